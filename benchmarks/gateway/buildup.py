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
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
import uvloop
from heddle_connector.http import HttpClient, Request, http_client
from heddle_gateway.http.limited_protocol import limited_protocol
from heddle_runtime.serving.server import settle

from benchmarks.gateway import accounting
from benchmarks.gateway.measure import load_client, wait_until_ready
from benchmarks.gateway.processes import Command, free_ports, started
from benchmarks.gateway.reference import Message, Receive, Send
from benchmarks.gateway.scenarios import SCENARIOS
from benchmarks.gateway.steps import STEPS, Step
from benchmarks.gateway.systems import PATH, System

if TYPE_CHECKING:
    from heddle_gateway.http.connection import Connection

ROUNDS = 5
_JSON = ((b"content-type", b"application/json"),)
_HEADERS = {"content-type": "application/json", "authorization": "Bearer development"}


async def serve(port: int, upstream: int, step: Step) -> None:
    """Serve one step until the process is ended."""
    url = f"http://127.0.0.1:{upstream}/v1/chat/completions"
    async with http_client(5.0) as http:
        await uvicorn.Server(
            uvicorn.Config(
                _application(http, url, step),
                port=port,
                http=limited_protocol(15.0),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
            )
        ).serve()


def _application(
    http: HttpClient, url: str, step: Step
) -> Callable[[Message, Receive, Send], Awaitable[None]]:
    settle()

    async def application(scope: Message, _: Receive, __: Send) -> None:
        connection: Connection = scope["state"].pop("connection")
        answer = await step(
            lambda body: http.fetch(Request(url, _HEADERS, 100.0, body)), connection.take_body()
        )
        connection.respond(200, _JSON, b"content-length: %d\r\n" % len(answer), answer)

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
            System(name, port, PATH, "fake", (process,))
            for name, port, process in zip(names, ports, processes, strict=True)
        ]
        client = stack.enter_context(load_client())
        wait_until_ready(systems, client)
        costs: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(ROUNDS):
            for system in systems:
                before = accounting.cpu_seconds(system.pids)
                outcome = client.run(scenario.job(system))
                used = accounting.cpu_seconds(system.pids) - before
                costs[system.name].append(used / max(outcome.requests, 1) * 1e6)
    for name, samples in costs.items():
        ratios = [own / other for own, other in zip(samples, costs["reference"], strict=True)]
        middle, ratio = statistics.median(samples), statistics.median(ratios)
        sys.stdout.write(f"{name:14} {middle:6.0f} us  {ratio:5.2f} of the reference\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        uvloop.run(serve(int(sys.argv[1]), int(sys.argv[2]), STEPS[sys.argv[3]]))
    else:
        main()
