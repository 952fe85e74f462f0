"""A tool service in a process of its own, with plugins that attack it."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from heddle.tool.v1 import tool_pb2 as pb
from heddle.tool.v1 import tool_pb2_grpc
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel
from heddle_runtime.settings.local_secret import OF_THIS_PROCESS
from integration.processes import processes
from tools_service.serving import Client
from tools_service.serving import said as conversation

MODULE = "heddle_tools_service"
MAX_P99_SECONDS = 0.2


@dataclass
class Attacked:
    """The service, its process, and how long calls of another tool took."""

    client: Client
    process: int
    log: Path
    seconds: list[float] = field(default_factory=list)
    max_p99: float = MAX_P99_SECONDS
    """Without other load on the machine 200 ms; else twice what it was before the attack."""

    @property
    def p99(self) -> float:
        """The time that 99 of 100 calls took at most."""
        return sorted(self.seconds)[int(len(self.seconds) * 0.99)]

    async def measure_before(self) -> None:
        """Set `max_p99` from calls without an attack."""
        self.seconds.clear()
        async with self.measured():
            await asyncio.sleep(0.5)
        self.max_p99 = max(MAX_P99_SECONDS, 2 * self.p99)
        self.seconds.clear()

    async def listed(self) -> pb.ListToolsResponse:
        """Return the tools and the problems of plugins."""
        request = pb.ListToolsRequest(page_size=200)
        return await self.client.stub.ListTools(request, **new_call_options(5))

    @asynccontextmanager
    async def measured(self) -> AsyncGenerator[None]:
        """Call another tool again and again meanwhile."""
        task = asyncio.create_task(self._measure())
        await asyncio.sleep(0.1)  # so that there are calls before the attack
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _measure(self) -> None:
        while True:
            started = time.perf_counter()
            await self.client.run("word_count", {}, conversation("one two"))
            self.seconds.append(time.perf_counter() - started)
            await asyncio.sleep(0.005)


@asynccontextmanager
async def tool_service(
    folder: Path, plugins: Mapping[str, str], **settings: str
) -> AsyncGenerator[Attacked]:
    """Run a tool service with plugins.

    Args:
        folder: An empty folder, from which the service is started.
        plugins: The text of each file.
        settings: Of the service's environment.
    """
    (folder / "plugins").mkdir()
    for name, text in plugins.items():
        (folder / "plugins" / name).write_text(text)
    secret_file = folder / "identity-secret"
    secret_file.touch(0o600)
    secret_file.write_text(OF_THIS_PROCESS.get_secret_value())
    environment = {
        "HEDDLE_LOCAL_SECRET_FILE": str(secret_file),  # with it, tests sign grants
        "HEDDLE_ASSISTANTS_ADDRESS": "none",
        "HEDDLE_TOOLS_PLUGINS_DIR": str(folder / "plugins"),
        "HEDDLE_TOOLS_WORKSPACE_DIR": str(folder / "workspaces"),
        **settings,
    }
    async with processes(folder, (MODULE,), **environment) as services:
        address = services.environment["HEDDLE_TOOLS_LISTEN"]
        async with channel(address) as connection:
            await connection.channel_ready()
            client = Client(tool_pb2_grpc.ToolServiceStub(connection))
            process = services.running[MODULE].pid
            yield Attacked(client, process, folder / f"{MODULE}.log")
