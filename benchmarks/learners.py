"""`python -m benchmarks.learners`: a course that chats, with a provider that answers at once.

Each learner has a conversation, and asks it a question every 20 seconds as the studio does: in the
background, with a stream. Printed are the time until the first word, which is all Heddle's own, the
time until the end, and the CPU of a turn. Exits with 1 if an answer is lost or the 95th percentile
until the first word exceeds 100 ms.
"""

import argparse
import asyncio
import json
import os
import ssl
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from benchmarks.gateway.accounting import cpu_seconds
from benchmarks.gateway.processes import Command, free_ports, started
from benchmarks.gateway.systems import heddle_environment

_MODEL = "lamb_assistant.bench"
_PORTS = 8
_READY_SECONDS = 90.0
_ALLOWED_SECONDS = 0.1
_MILLISECONDS = 1_000
# To read the certificates of the machine takes each client 20 ms, while the others wait.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_RANDOM = Random(1)  # noqa: S311 - a fixed sequence


@dataclass(slots=True)
class Seen:
    """What the learners saw."""

    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def options() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser("python -m benchmarks.learners", description=__doc__)
    parser.add_argument("--learners", type=int, default=200, help="at the same time [200]")
    parser.add_argument("--every", type=float, default=20.0, help="seconds between questions [20]")
    parser.add_argument("--questions", type=int, default=6, help="of each learner [6]")
    return parser.parse_args()


async def run(arguments: argparse.Namespace, folder: Path) -> bool:
    """Measure and print; return whether all is as it should be."""
    upstream, *ports = free_ports(_PORTS)
    settings = heddle_environment(ports, upstream, folder / "heddle")
    del settings["HEDDLE_GATEWAY_DEVELOPMENT"]
    keys = folder / "keys.json"
    people = range(arguments.learners)
    keys.write_text(json.dumps({_key(number): _person(number) for number in people}))
    settings |= {
        "HEDDLE_GATEWAY_API_KEYS": str(keys),
        "HEDDLE_IDENTITY_SECRET": "a-secret-of-the-benchmark-of-learners",
        "HEDDLE_LOG_LEVEL": "WARNING",
    }
    logs = folder / "logs"
    logs.mkdir()
    commands = [
        Command("benchmarks.gateway.upstream", (str(upstream),)),
        Command("heddle_devstack", environment=settings),
    ]
    with started(commands, logs) as [_, heddle]:
        url = f"http://127.0.0.1:{ports[0]}"
        await _ready(url)
        pids = [heddle.popen.pid]
        await _course(url, range(min(len(people), 4)), 0.2, 2)  # loads what a first answer needs
        cpu, begun = cpu_seconds(pids), time.monotonic()
        seen = await _course(url, people, arguments.every, arguments.questions)
        cpu, seconds = cpu_seconds(pids) - cpu, time.monotonic() - begun
        lines = heddle.log.read_text().splitlines()
        seen.faults += [each for each in lines if '"level":"error"' in each]
    return _report(seen, len(people) * arguments.questions, cpu, seconds)


def _key(number: int) -> str:
    return f"lamb_learner_{number}_0123456789abcdef"


def _person(number: int) -> dict[str, object]:
    return {"subject": f"learner{number}@uni.example", "organization": "uni", "scopes": []}


async def _ready(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        async with asyncio.timeout(_READY_SECONDS):
            while True:
                try:
                    if (await client.get("/health")).status_code == httpx.codes.OK:
                        return
                except httpx.HTTPError:
                    pass
                await asyncio.sleep(0.2)


async def _course(url: str, people: Sequence[int], every: float, questions: int) -> Seen:
    """Let learners ask, each beginning at another time."""
    seen = Seen()
    async with asyncio.TaskGroup() as group:
        for number in people:
            group.create_task(_learner(url, number, every, questions, seen))
    return seen


async def _learner(url: str, number: int, every: float, questions: int, seen: Seen) -> None:
    headers = {"authorization": f"Bearer {_key(number)}"}
    async with httpx.AsyncClient(
        base_url=url, headers=headers, timeout=60, trust_env=False, verify=_NO_CERTIFICATES
    ) as client:
        await asyncio.sleep(_RANDOM.random() * every)
        begun = time.monotonic()
        conversation = (await client.post("/v1/conversations", json={})).json()["id"]
        answers = []
        for question in range(questions):
            await asyncio.sleep(max(0.0, begun + question * every - time.monotonic()))
            try:
                answers.append(await _ask(client, conversation, f"Question {question}?", seen))
            except (httpx.HTTPError, KeyError) as error:
                seen.faults.append(f"learner {number}: {type(error).__name__} {error}")
        path = f"/v1/conversations/{conversation}/items"
        items = (await client.get(path, params={"order": "asc", "limit": 100})).json()["data"]
        stored = [_text(each) for each in items if each.get("role") == "assistant"]
        if stored != answers or len(stored) != questions:
            seen.faults.append(f"learner {number}: {len(stored)} of {questions} answers are stored")


async def _ask(client: httpx.AsyncClient, conversation: str, question: str, seen: Seen) -> str:
    """Ask a question; return the answer."""
    body = {
        "model": _MODEL,
        "input": [{"type": "message", "role": "user", "content": question}],
        "conversation": conversation,
        "background": True,
        "stream": True,
    }
    begun, first, text = time.monotonic(), 0.0, ""
    async with client.stream("POST", "/v1/responses", json=body) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if not line.startswith("data: {"):
                continue
            event = json.loads(line.removeprefix("data: "))
            if event["type"] == "response.output_text.delta":
                first = first or time.monotonic() - begun
                text += event["delta"]
            elif event["type"] == "response.completed":
                seen.first.append(first)
                seen.whole.append(time.monotonic() - begun)
                return text
    raise KeyError(f"no answer to {question!r}")


def _text(item: dict[str, Any]) -> str:
    return "".join(part["text"] for part in item["content"])


def _report(seen: Seen, questions: int, cpu: float, seconds: float) -> bool:
    for fault in seen.faults[:10]:
        print(fault)
    print(f"{len(seen.first)} of {questions} answers in {seconds:.0f} s, {len(seen.faults)} faults")
    for name, times in (("first word", seen.first), ("end", seen.whole)):
        parts = statistics.quantiles(times, n=20, method="inclusive")
        shown = (value * _MILLISECONDS for value in (parts[9], parts[-1], max(times)))
        print(f"{name:<12}" + "median {:.0f} ms, p95 {:.0f} ms, most {:.0f} ms".format(*shown))
    load = os.getloadavg()[0]
    print(f"CPU of a turn {cpu / questions * _MILLISECONDS:.1f} ms; load of the machine {load:.1f}")
    late = statistics.quantiles(seen.first, n=20, method="inclusive")[-1] > _ALLOWED_SECONDS
    return not (seen.faults or late)


def main() -> None:
    """Run the benchmark."""
    with TemporaryDirectory(prefix="heddle-learners-") as folder:
        well = asyncio.run(run(options(), Path(folder)))
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
