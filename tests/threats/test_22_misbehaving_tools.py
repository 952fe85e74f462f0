"""Threat 22: a tool hangs, spins, forks, eats memory, floods its output, crashes or daemonises."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.workers.confinement import missing
from patience import until
from runtime.examples import sampled
from threats.tool_service import Attacked, tool_service
from tools_service.serving import said as conversation
from tools_service.serving import text_of

PLUGIN = '''
import asyncio, ctypes, os, pickle, subprocess, sys, time
from heddle.tool.v1 import tool_pb2 as pb
from heddle_tools_service.plugin_process.proxies import RUN
from heddle_tools_service.sdk import ToolResult, tool
from heddle_tools_service.workers import frames

@tool("hangs", title="Hangs")
async def hangs(call):
    """Hangs."""
    time.sleep(60)

@tool("spins", title="Spins")
async def spins(call):
    """Spins."""
    while True:
        pass

@tool("ignores", title="Ignores")
async def ignores(call):
    """Ignores its cancellation."""
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

@tool("forks", title="Forks")
async def forks(call):
    """Forks for ever."""
    while True:
        os.fork()

@tool("daemonises", title="Daemonises")
async def daemonises(call):
    """Starts a process that outlives it."""
    subprocess.Popen(["sleep", "60"], start_new_session=True)

@tool("eats", title="Eats")
async def eats(call):
    """Uses four gigabytes, a little at a time."""
    eaten = []
    for _ in range(4096):
        eaten.append(bytearray(os.urandom(1024)) * 1024)

@tool("floods", title="Floods")
async def floods(call):
    """Prints and reports without end."""
    while True:
        print("flood" * 1000)
        call.status("flood")

@tool("floods_channel", title="Floods the channel")
async def floods_channel(call):
    """Sends messages of the protocol without end."""
    while True:
        try:
            os.write(3, frames.frame(frames.Begun(999_999)) * 10_000)
        except BlockingIOError:
            pass

def send(data):
    """Write to the channel past its event loop."""
    os.set_blocking(3, True)
    os.write(3, data)

@tool("floods_large", title="Floods the channel with large statuses")
async def floods_large(call):
    """Reports statuses of megabytes."""
    status = pb.ToolStatus(message="x" * 8_000_000)
    event = pb.ToolEvent(status=status).SerializeToString()
    message = frames.frame(frames.Event(RUN.get(), event))
    while True:
        send(message)

@tool("floods_capability", title="Floods a capability")
async def floods_capability(call):
    """Calls a capability with megabytes, and reads no answer."""
    arguments = b"x" * 4_000_000
    name = "heddle_tools_service.workers.interfaces:Http"
    for number in range(1, 1_000):
        send(frames.frame(frames.Called(number, RUN.get(), name, "send", arguments)))
    time.sleep(60)

@tool("half_a_message", title="Sends half a message")
async def half_a_message(call):
    """Announces a long message, and sends it byte by byte."""
    send((16_000_000).to_bytes(4, "big"))
    while True:
        send(b"x")
        time.sleep(0.05)

@tool("huge_message", title="Announces a huge message")
async def huge_message(call):
    """Announces four gigabytes."""
    send(b"\\xff" * 4)
    time.sleep(60)

@tool("pickle", title="Sends a pickle")
async def sends_pickle(call):
    """Sends an object that runs a program where it is read as a pickle."""
    class Program:
        def __reduce__(self):
            return os.system, ("touch PICKLED",)
    data = pickle.dumps(Program())
    send(len(data).to_bytes(4, "big") + data)
    time.sleep(60)

@tool("crashes", title="Crashes")
async def crashes(call):
    """Reads where there is no memory."""
    ctypes.string_at(0)

@tool("exits", title="Exits")
async def exits(call):
    """Exits."""
    os._exit(0)
'''
GOOD = '''
from heddle_tools_service.sdk import ToolResult, tool

@tool("good", title="Good")
async def good(call):
    """Answers."""
    return ToolResult("good")
'''
LIMIT_SECONDS = 0.6
MAX_PEAK_MIB = 400
MISBEHAVIOURS = [line.split('"')[1] for line in PLUGIN.splitlines() if line.startswith("@tool")]

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.alone,
    pytest.mark.skipif(bool(missing()), reason="the kernel lacks what confines plugins"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Attacked]:
    folder = tmp_path_factory.mktemp("threat-22")
    async with tool_service(folder, {"bad.py": PLUGIN, "good.py": GOOD}) as attacked:
        await attacked.measure_before()
        yield attacked


@pytest.mark.parametrize("name", sampled(MISBEHAVIOURS, 5))
async def test_it_ends_with_a_typed_error_and_delays_no_other_call(
    service: Attacked, name: str
) -> None:
    service.seconds.clear()
    invocation = pb.ToolInvocation(id="1", name=name)
    invocation.timeout.FromMilliseconds(int(LIMIT_SECONDS * 1000))
    request = pb.ExecuteToolsRequest(invocations=[invocation], context=conversation("?"))
    forget_peak(service.process)
    started = time.perf_counter()
    async with service.measured():
        batches = service.client.stub.ExecuteTools(request, **new_call_options(10))
        events = [event async for batch in batches for event in batch.events]
        seconds = time.perf_counter() - started
        _, result = await service.client.run("good", {}, conversation("?"))
        await asyncio.sleep(0.5)

    assert events[-1].HasField("error")
    assert seconds < LIMIT_SECONDS + 0.5
    assert text_of(result) == "good"
    assert service.p99 <= service.max_p99
    # Of each of the two files one process is left at most, and nothing that it started.
    await until(lambda: len(list(descendants(service.process))) <= 1 + 2)
    assert memory_mib(service.process) < 300
    assert peak_mib(service.process) < MAX_PEAK_MIB
    assert not was_unpickled(service.process)


@pytest.mark.exhaustive
async def test_a_tool_that_hangs_again_and_again_is_not_lost(service: Attacked) -> None:
    invocation = pb.ToolInvocation(id="1", name="hangs")
    invocation.timeout.FromMilliseconds(300)
    request = pb.ExecuteToolsRequest(invocations=[invocation], context=conversation("?"))

    async def hang() -> None:
        async for _ in service.client.stub.ExecuteTools(request, **new_call_options(10)):
            pass

    async with service.measured():
        await asyncio.gather(*(hang() for _ in range(20)))
    _, result = await service.client.run("good", {}, conversation("?"))
    await asyncio.sleep(2)
    response = service.client.stub.ExecuteTools(request, **new_call_options(10))
    [event] = [event async for batch in response for event in batch.events]

    assert text_of(result) == "good"
    assert service.p99 <= service.max_p99
    assert "did not finish" in event.error.message  # it was begun, and not refused as busy


def descendants(parent: int) -> Iterator[int]:
    """Yield the processes below a process."""
    for status in Path("/proc").glob("[0-9]*/status"):
        fields = fields_of(status)
        if fields.get("PPid") == str(parent) and not fields["State"].startswith("Z"):
            yield int(fields["Pid"])
            yield from descendants(int(fields["Pid"]))


def memory_mib(process: int) -> float:
    """Return the memory of a process, in MiB."""
    return int(fields_of(Path(f"/proc/{process}/status"))["VmRSS"].split()[0]) / 1024


def was_unpickled(process: int) -> bool:
    """Return whether a process ran the program of the pickle."""
    return Path(f"/proc/{process}/cwd/PICKLED").exists()


def forget_peak(process: int) -> None:
    """Let the kernel begin a new peak of the memory of a process."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


def peak_mib(process: int) -> float:
    """Return the most memory that a process has had, in MiB."""
    return int(fields_of(Path(f"/proc/{process}/status"))["VmHWM"].split()[0]) / 1024


def fields_of(status: Path) -> dict[str, str]:
    try:
        lines = status.read_text().splitlines()
    except OSError:  # it has ended
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
