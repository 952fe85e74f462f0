"""What a whole answer costs at least: one piece of the work added to the other.

Heddle as one process cannot be cheaper than the last step, which does what any gateway of these
contracts has to do and nothing else: no keys, no checks, no deadlines, no errors, no log.

Run as `python -m benchmarks.gateway.buildup`; with PORT, UPSTREAM_PORT and the name of a step it
serves that step.
"""

import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import msgspec
import uvicorn
import uvloop
from heddle.chat.v1.chat_pb2 import ROLE_SYSTEM, ROLE_USER
from heddle.connector.v1.connector_pb2 import (
    GenerateWholeMessageRequest,
    GenerateWholeMessageResponse,
)
from heddle.orchestrator.v1.orchestrator_pb2 import (
    RunCompletionRequest,
    RunWholeCompletionRequest,
    RunWholeCompletionResponse,
)
from heddle_connector.http import Http, Request, http_client
from heddle_gateway.protocol import Line, careful
from heddle_runtime.server import settle

from benchmarks.gateway import accounting, tokens
from benchmarks.gateway.measure import load_client, wait_until_ready
from benchmarks.gateway.processes import Command, free_ports, started
from benchmarks.gateway.reference import Message, Receive, Send
from benchmarks.gateway.scenarios import SCENARIOS
from benchmarks.gateway.systems import System

ROUNDS = 5
_JSON = ((b"content-type", b"application/json"),)
_HEADERS = {"content-type": "application/json", "authorization": "Bearer benchmark"}
_ROLES = {"system": ROLE_SYSTEM, "user": ROLE_USER}
_NAMES = {number: name for name, number in _ROLES.items()}
Ask = Callable[[bytes], Awaitable[bytes]]
Step = Callable[[Ask, bytes], Awaitable[bytes]]


async def http_only(_: Ask, body: bytes) -> bytes:
    """Read a request over HTTP and send a constant answer."""
    return _constant(body)


async def and_provider(ask: Ask, body: bytes) -> bytes:
    """Hand the bytes to the provider and back."""
    return await ask(body)


async def and_json(ask: Ask, body: bytes) -> bytes:
    """Read and write the JSON of all four messages."""
    answer = msgspec.json.decode(await ask(msgspec.json.encode(msgspec.json.decode(body))))
    return msgspec.json.encode(answer)


async def and_contracts(ask: Ask, body: bytes) -> bytes:
    """Put what the JSON says into the two requests and the two responses of the contracts."""
    run = _run(msgspec.json.decode(body))
    order = GenerateWholeMessageRequest()
    order.generation.messages.extend(run.messages)
    order.generation.options.CopyFrom(run.options)
    options = order.generation.options
    messages = [
        {"role": _NAMES[turn.role], "content": turn.parts[0].text}
        for turn in order.generation.messages[:]
    ]
    asked = {"model": "fake", "messages": messages, "max_tokens": options.max_tokens}
    generated = GenerateWholeMessageResponse()
    _fill(generated, msgspec.json.decode(await ask(msgspec.json.encode(asked))))
    answer = RunWholeCompletionResponse()
    text, done = generated.events[:]
    answer.events.add(text_delta=text.text_delta)
    answer.events.add(done=done.done)
    text_event, done_event = answer.events[:]
    used = done_event.done.usage.completion_tokens
    message = {"role": "assistant", "content": text_event.text_delta}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return msgspec.json.encode({"choices": [choice], "usage": {"completion_tokens": used}})


STEPS: dict[str, Step] = {
    step.__name__: step for step in (http_only, and_provider, and_json, and_contracts)
}


def _run(given: dict[str, list[dict[str, str]]]) -> RunCompletionRequest:
    run = RunWholeCompletionRequest().run
    for turn in given["messages"]:
        run.messages.add(role=_ROLES[turn["role"]]).parts.add(text=turn["content"])
    run.options.max_tokens = given["max_tokens"]  # type: ignore[assignment] # the one number in it
    return run


def _fill(generated: GenerateWholeMessageResponse, answer: Message) -> None:
    generated.events.add(text_delta=answer["choices"][0]["message"]["content"])
    done = generated.events.add().done
    done.usage.completion_tokens = answer["usage"]["completion_tokens"]


@cache
def _constant(body: bytes) -> bytes:
    return tokens.whole(msgspec.json.decode(body)["max_tokens"])


async def serve(port: int, upstream: int, step: Step) -> None:
    """Serve one step until the process is ended."""
    url = f"http://127.0.0.1:{upstream}/v1/chat/completions"
    async with http_client(5.0) as http:
        await uvicorn.Server(
            uvicorn.Config(
                _application(http, url, step),
                port=port,
                http=careful(15.0),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
            )
        ).serve()


def _application(
    http: Http, url: str, step: Step
) -> Callable[[Message, Receive, Send], Awaitable[None]]:
    settle()

    async def application(scope: Message, _: Receive, __: Send) -> None:
        line: Line = scope["state"].pop("line")
        answer = await step(
            lambda body: http.whole(Request(url, _HEADERS, 100.0, body)), line.take()
        )
        line.reply(200, _JSON, b"content-length: %d\r\n" % len(answer), answer)

    return application


def main() -> None:
    """Measure all steps, the reference before them, and print a table."""
    scenario = next(each for each in SCENARIOS if each.name == "unary_c16")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        logs = Path(folder)
        upstream, *ports = free_ports(2 + len(STEPS))
        commands = [Command("benchmarks.gateway.upstream", (str(upstream),))]
        commands += [Command("benchmarks.gateway.reference", (str(ports[0]), str(upstream)))]
        commands += [
            Command("benchmarks.gateway.buildup", (str(port), str(upstream), name))
            for port, name in zip(ports[1:], STEPS, strict=True)
        ]
        _, *processes = stack.enter_context(started(commands, logs))
        names = ["reference", *STEPS]
        systems = [
            System(name, port, "fake", (process,))
            for name, port, process in zip(names, ports, processes, strict=True)
        ]
        client = stack.enter_context(load_client())
        wait_until_ready(systems, client)
        costs: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(ROUNDS):
            for system in systems:
                before = accounting.cpu_seconds(system.pids)
                outcome = client.run(scenario.job(system.port, system.model))
                used = accounting.cpu_seconds(system.pids) - before
                costs[system.name].append(used / max(outcome.requests, 1) * 1e6)
    for name, found in costs.items():
        ratios = [own / other for own, other in zip(found, costs["reference"], strict=True)]
        middle, ratio = statistics.median(found), statistics.median(ratios)
        sys.stdout.write(f"{name:14} {middle:6.0f} us  {ratio:5.2f} of the reference\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        uvloop.run(serve(int(sys.argv[1]), int(sys.argv[2]), STEPS[sys.argv[3]]))
    else:
        main()
