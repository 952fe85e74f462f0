"""`python -m benchmarks.sandbox`: compares a tool in a process of its own with one in the service.

Calls alternate between the two, so that both see the same load. Ends with 1 if a figure misses its
goal.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import structlog
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle.tool.v1 import tool_pb2_grpc
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.serving.server import running
from heddle_tools_service.app import ToolsSettings, app

MAX_COST_MS = 3.0
MAX_PSS_MIB = 80.0
_WARM_UP = 20
_TOOL = '''
from heddle_tools_service.sdk import ToolResult, tool

@tool("shout", title="Shout", effect="read_only")
async def shout(call):
    """Returns the question in capital letters."""
    return ToolResult(call.query.upper())
'''


@dataclass(frozen=True)
class Figures:
    """What a measurement yields."""

    in_service_ms: float
    """The median time of a call of a tool in the service."""
    in_process_ms: float
    """The same of a tool in a process of its own."""
    pss_mib: float | None
    """The largest process's share of memory. None if this user may not read it."""

    @property
    def cost_ms(self) -> float:
        """What a call in a process of its own takes longer, at the median."""
        return self.in_process_ms - self.in_service_ms

    @property
    def is_reached(self) -> bool:
        """Whether the figures reach their goals."""
        return self.cost_ms <= MAX_COST_MS and (self.pss_mib or 0) <= MAX_PSS_MIB


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser("python -m benchmarks.sandbox", description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000, help="of each tool [1000]")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("error"))
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measure(Path(folder), arguments.calls))
    print(
        f"median of a call: {figures.in_process_ms:.2f} ms in a process of its own, "
        f"{figures.in_service_ms:.2f} ms in the service: {figures.cost_ms:.2f} ms more "
        f"(at most {MAX_COST_MS:g} ms)"
    )
    shown = "not readable" if figures.pss_mib is None else f"{figures.pss_mib:.1f} MiB"
    print(f"memory of the process (PSS): {shown} (at most {MAX_PSS_MIB:g} MiB)")
    sys.exit(0 if figures.is_reached else 1)


async def measure(folder: Path, calls: int) -> Figures:
    """Return the figures of so many calls of each tool.

    Args:
        folder: An empty folder.
        calls: Of each tool.
    """
    (folder / "plugins").mkdir()
    (folder / "plugins" / "shout.py").write_text(_TOOL)
    seconds: dict[str, list[float]] = {"off": [], "auto": []}
    async with AsyncExitStack() as resources:
        stubs = {}
        for sandbox in seconds:
            settings = ToolsSettings.model_validate(
                {
                    "listen": "127.0.0.1:0",
                    "drain_wait": 0,
                    "plugins_dir": folder / "plugins",
                    "sandbox": sandbox,
                }
            )
            service = await resources.enter_async_context(running(app(settings), settings))
            stubs[sandbox] = tool_pb2_grpc.ToolServiceStub(service.local)
        for _ in range(_WARM_UP + calls):
            for sandbox, stub in stubs.items():
                started = time.perf_counter()
                await _call(stub)
                seconds[sandbox].append(time.perf_counter() - started)
        pss = _largest_pss()
    medians = {name: statistics.median(times[_WARM_UP:]) * 1_000 for name, times in seconds.items()}
    return Figures(medians["off"], medians["auto"], pss)


async def _call(stub: "tool_pb2_grpc.ToolServiceAsyncStub") -> None:
    request = pb.ExecuteToolRequest(invocation=pb.ToolInvocation(id="1", name="shout"))
    message = request.context.messages.add(role=chat_pb2.ROLE_USER)
    message.parts.add(text="What is a shed?")
    responses = [each async for each in stub.ExecuteTool(request, **new_call_options(10))]
    text = responses[-1].result.parts[0].text
    if text != "WHAT IS A SHED?":
        raise AssertionError(text)


def _largest_pss() -> float | None:
    """Return the largest share of memory of a plugin's process, in MiB."""
    shares = [_pss(process) for server in _children(os.getpid()) for process in _children(server)]
    known = [share for share in shares if share is not None]
    return max(known) if known else None


def _children(parent: int) -> Iterator[int]:
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:  # it has ended
            continue
        if int(fields["PPid"]) == parent:
            yield int(fields["Pid"])


def _pss(process: int) -> float | None:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    main()
