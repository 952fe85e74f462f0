"""`python -m benchmarks.first_answer`: 60 questions over six documents, with and without a model.

Each document is ingested into a collection of its own. Two assistants answer from it with the
prompt of the studio's start page: one with the default model while no model is connected, and one
with the embedded model.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from heddle_assistants.app import AssistantsSettings
from heddle_connector.app import ConnectorSettings
from heddle_devstack import StackSettings, stack
from heddle_devstack.settings import DevstackSettings
from heddle_gateway.app import GatewaySettings
from heddle_gateway.http.server import serving
from heddle_knowledge.settings import KnowledgeSettings
from heddle_orchestrator.app import OrchestratorSettings
from heddle_runtime.telemetry import logs
from heddle_tools_service.app import ToolsSettings

from benchmarks.first_answer.documents import DOCUMENTS, fetched

ANY_PORT = "127.0.0.1:0"
MODELS = {"without a model": "default/default", "embedded model": "local/smollm2-135m-instruct"}
_QUESTIONS = Path(__file__).with_name("questions.tsv")
_SECONDS = 120.0
_PLACE = re.compile(r"^\u2014 .*$", re.MULTILINE)
"""The line with the source of a quote, which has the number of its page."""
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_PROMPT = {
    "system_prompt": "",
    "prompt_template": "Text: {context}\nUsing the text, answer: {user_input}",
}


@dataclass(frozen=True)
class Question:
    """A question about a document, and the facts that a right answer states."""

    document: str
    text: str
    facts: Sequence[str]
    """Each with its alternatives, separated by ` or `."""

    def is_answered(self, answer: str) -> bool:
        """Return whether an answer states all facts."""
        return all(any(_states(answer, each) for each in fact.split(" or ")) for fact in self.facts)


@dataclass
class Figures:
    """The results of one kind of answer."""

    right: int = 0
    wrong_numbers: int = 0
    """Answers with a number that is not in the passages found."""
    misleading: int = 0
    """Answers with numbers, and without the fact."""
    milliseconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def questions() -> list[Question]:
    """Return the questions."""
    lines = _QUESTIONS.read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    return [Question(name, text, facts.split(" & ")) for name, text, facts in rows]


def _states(answer: str, fact: str) -> bool:
    pattern = rf"(?<![\w.]){re.escape(_normal(fact))}(?![\w])(?!\.\d)"
    return re.search(pattern, _normal(answer)) is not None


def _normal(text: str) -> str:
    return " ".join(re.sub(r"[*`]", "", text).casefold().split())


def _assistants(folder: Path) -> dict[tuple[str, str], str]:
    """Write the assistants, and return their references by kind and document."""
    references: dict[tuple[str, str], str] = {}
    for kind, model in MODELS.items():
        connector, _, name = model.partition("/")
        for document in DOCUMENTS:
            number = str(len(references) + 1)
            tool = {"type": "simple_rag", "config": {"collections": [document.name], "top_k": 3}}
            members = {
                "_format_version": 2,
                "id": number,
                "name": f"assistant_{number}",
                "model": {"connector": connector, "model": name},
                "cite_sources": True,
                **_PROMPT,
                "tools": [tool],
            }
            (folder / f"{number}.yaml").write_text(json.dumps(members))  # JSON is YAML
            references[kind, document.name] = f"lamb_assistant.file-{number}"
    return references


async def _ask(client: httpx.AsyncClient, model: str, question: str) -> tuple[str, set[str], float]:
    """Return the answer, the numbers in the passages found, and the milliseconds."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "temperature": 0,
        "max_tokens": 150,
        "stream": True,
    }
    text, numbers = "", set[str]()
    started = time.perf_counter()
    async with client.stream("POST", "/v1/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: {"):
                continue
            chunk = json.loads(line.removeprefix("data: "))
            if "error" in chunk:
                raise SystemExit(chunk["error"]["message"])
            event = chunk.get("event", {})
            if event.get("type") == "source":
                numbers |= _numbers(_texts(event["data"]))
            if chunk["choices"]:
                text += chunk["choices"][0]["delta"].get("content") or ""
    return text, numbers, (time.perf_counter() - started) * 1000


def _texts(value: Any) -> str:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return " ".join(map(_texts, value.values()))
    return " ".join(map(_texts, value)) if isinstance(value, list) else str(value)


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(text))


async def measured(
    client: httpx.AsyncClient,
    references: dict[tuple[str, str], str],
    kind: str,
    every: Iterable[Question],
    *,
    show: bool,
) -> Figures:
    """Return the figures of one kind of answer."""
    figures = Figures()
    for each in every:
        answer, numbers, elapsed = await _ask(client, references[kind, each.document], each.text)
        right = each.is_answered(answer)
        own = _numbers(_PLACE.sub("", answer))
        unknown = {number for number in own if number not in numbers | _numbers(each.text)}
        figures.right += right
        figures.wrong_numbers += bool(unknown)
        figures.misleading += bool(own) and not right
        figures.milliseconds.append(elapsed)
        if not right:
            figures.failed.append(each.text)
        if show:
            print(f"\n[{'right' if right else 'WRONG'}] {kind}: {each.text}\n{answer}\n{unknown}")
    return figures


def _ingest(path: Path, knowledge: str) -> None:
    command = [
        *(sys.executable, "-m", "heddle_cli", "ingest", str(path), "--collection", path.name),
    ]
    environment = {**os.environ, "HEDDLE_KNOWLEDGE_ADDRESS": knowledge}
    subprocess.run(command, check=True, capture_output=True, env=environment)  # noqa: S603 - fixed words


async def main(folder: Path, kinds: Sequence[str], *, show: bool) -> None:
    """Ask the questions and print the table."""
    documents = [path.resolve() for path in fetched(folder)]
    with TemporaryDirectory() as state:
        os.chdir(state)  # where services keep their data
        assistants = Path("assistants")
        assistants.mkdir()  # noqa: ASYNC240 - nothing else runs yet
        references = _assistants(assistants)
        settings = StackSettings(
            devstack=DevstackSettings(),
            gateway=GatewaySettings(listen=ANY_PORT, development=True, drain_wait=0),
            tools=ToolsSettings(listen=ANY_PORT, drain_wait=0),
            knowledge=KnowledgeSettings(listen=ANY_PORT, drain_wait=0),
            orchestrator=OrchestratorSettings(listen=ANY_PORT, drain_wait=0),
            connector=ConnectorSettings(listen=ANY_PORT, drain_wait=0),
            assistants=AssistantsSettings(listen=ANY_PORT, assistants_dir=assistants, drain_wait=0),
        )
        async with (
            stack(settings) as running,
            serving(running.gateway, settings.gateway) as address,
            httpx.AsyncClient(base_url=f"http://{address}", timeout=_SECONDS) as client,
        ):
            for path in documents:
                await asyncio.to_thread(_ingest, path, running.knowledge)
            every = questions()
            print(f"{'':18}{'right':>7}{'unknown number':>16}{'number, no fact':>17}{'ms':>8}")
            for kind in kinds:
                await _ask(client, references[kind, DOCUMENTS[0].name], "Hello?")  # warm
                figures = await measured(client, references, kind, every, show=show)
                print(
                    f"{kind:18}{figures.right:>7}{figures.wrong_numbers:>16}"
                    f"{figures.misleading:>17}{statistics.median(figures.milliseconds):>8.0f}"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(".heddle/first-answer"))
    parser.add_argument("--show", action="store_true", help="print each answer")
    parser.add_argument("--kinds", nargs="*", default=list(MODELS), choices=list(MODELS))
    arguments = parser.parse_args()
    logs.configure("first-answer", "ERROR")
    asyncio.run(main(arguments.folder, arguments.kinds, show=arguments.show))
