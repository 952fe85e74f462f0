"""What health shows of tools in processes of their own."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from heddle.health.v1 import health_pb2 as pb
from heddle.health.v1.health_pb2_grpc import HealthServiceStub
from heddle.tool.v1 import tool_pb2
from heddle_runtime.errors import DeadlineError, HeddleError
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel
from tools_service.serving import Client
from tools_service.serving import said as conversation
from tools_service.test_app import serving, settings

PLUGIN = '''
import os, time
from pathlib import Path
from heddle_tools_service.sdk import ToolResult, tool

if "BROKEN" in Path("STATE").read_text():
    raise RuntimeError("The key is missing.")

@tool("sleeps", title="Sleeps")
async def sleeps(call):
    """Blocks its process."""
    time.sleep(60)

@tool("works", title="Works")
async def works(call):
    """Works."""
    return ToolResult("Done.")

@tool("ends", title="Ends")
async def ends(call):
    """Ends its process."""
    os._exit(7)
'''
Health = Callable[[], Awaitable[pb.Component]]


@asynccontextmanager
async def plugins(folder: Path, sandbox: str = "auto") -> AsyncGenerator[tuple[Client, Health]]:
    """Serve a plugin with two tools; yield a client, and what returns the health of the tools."""
    (folder / "plugins").mkdir()
    state = folder / "plugins" / "state.txt"
    state.write_text("")
    (folder / "plugins" / "own.py").write_text(PLUGIN.replace("STATE", str(state)))
    configured = settings(
        folder, plugins_dir=folder / "plugins", assistants_address="none", sandbox=sandbox
    )
    async with (
        serving(configured) as (client, service),
        channel(service.address) as connection,
    ):
        stub = HealthServiceStub(connection)

        async def health() -> pb.Component:
            response = await stub.GetHealth(pb.GetHealthRequest(), **new_call_options(5))
            (component,) = [each for each in response.components if each.name == "plugins"]
            return component

        yield client, health


async def component_when(health: Health, condition: Callable[[str], bool]) -> pb.Component:
    """Return the health once its problem is as it must be. Services check every two seconds."""
    async with asyncio.timeout(10):
        while not condition((component := await health()).problem):
            await asyncio.sleep(0.1)
    return component


@pytest.mark.exhaustive
@pytest.mark.parametrize(("sandbox", "in_processes"), [("auto", 3), ("off", 0)])
async def test_health_counts_the_tools_of_each_place(
    tmp_path: Path, sandbox: str, in_processes: int
) -> None:
    async with plugins(tmp_path, sandbox) as (client, health):
        summary = (await health()).summary
        listed = await client.stub.ListTools(tool_pb2.ListToolsRequest(), **new_call_options(5))
        total = len(listed.tools)
    own = f"Tools in processes of their own: {in_processes}."
    assert summary == f"Tools in the service: {total - in_processes}. {own}"


@pytest.mark.exhaustive
async def test_health_names_tools_whose_processes_hang(tmp_path: Path) -> None:
    async with plugins(tmp_path) as (client, health):
        calls = []
        with pytest.raises(HeddleError, match="busy"):
            for _ in range(60):
                blocking = client.run("sleeps", {}, conversation("?"), seconds=60)
                calls.append(asyncio.create_task(blocking))
                with suppress(DeadlineError):  # both began in one process, or it starts slowly
                    await client.run("works", {}, conversation("?"), seconds=1)
        component = await component_when(health, lambda problem: "4 processes hang" in problem)
        assert "folder:own.py, tool sleeps: " in component.problem
        assert component.ready
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await component_when(health, lambda problem: not problem)


async def test_health_names_tools_that_do_not_start_any_more(tmp_path: Path) -> None:
    async with plugins(tmp_path) as (client, health):
        (tmp_path / "plugins" / "state.txt").write_text("BROKEN")
        for _ in range(2):  # the first one ends the process
            with pytest.raises(HeddleError, match="tool"):
                await client.run("ends", {}, conversation("?"))
        component = await component_when(health, lambda problem: "The key is missing." in problem)
        assert "folder:own.py, tool ends: " in component.problem
