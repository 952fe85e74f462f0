"""All processes of Heddle under load, and the faults that can be injected."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.connections import Connections, connections
from chaos.history import History
from chaos.load import PATIENCE, Load
from integration.browser import browser
from integration.processes import GATEWAY, MODULES, Processes, processes
from integration.provider import STALLED, Provider, providing
from integration.whole import write_assistant
from runtime.ports import free_port

STALL_SECONDS = 2.0


@dataclass
class Stage:
    """Running processes, the connections between them, and their load."""

    heddle: Processes
    provider: Provider
    connections: Connections
    load: Load

    @property
    def history(self) -> History:
        """What the clients of the load did and saw."""
        return self.load.history

    async def begin(self, clients: int = 2) -> None:
        """Start the load with some clients of each kind, and wait until each gets answers."""
        self.load.start(clients=clients)
        await self.load.steady()

    def pause(self, module: str) -> None:
        """Stop a process without ending it."""
        self.heddle.running[module].send_signal(signal.SIGSTOP)

    def resume(self, module: str) -> None:
        """Let a paused process go on."""
        self.heddle.running[module].send_signal(signal.SIGCONT)

    async def restart(self, module: str) -> None:
        """Start a process that was killed, and wait until it is ready."""
        await asyncio.to_thread(self.heddle.start, module)
        await asyncio.to_thread(self.heddle.wait_until_ready, module)

    async def unready(self, service: str, seconds: float = 10) -> float:
        """Return the seconds until `/health` reports that a service is not ready."""
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            report = (await self.load.client.get("/health")).json()
            if not report["services"][service]:
                return time.monotonic() - began
            await asyncio.sleep(0.1)
        raise AssertionError(f"/health did not notice {service} within {seconds:g} s")

    async def components(self, service: str) -> list[dict[str, Any]]:
        """Return the components of a service as `/health/details` shows them."""
        report = (await self.load.client.get("/health/details")).json()
        components: list[dict[str, Any]] = report["services"][service]["components"]
        return components


@asynccontextmanager
async def running_stage(folder: Path, **environment: str) -> AsyncIterator[Stage]:
    """Run all processes, whose calls to each other can be cut; `environment` has settings."""
    write_assistant(folder, "1", "model: {connector: openai, model: m}\n")
    write_assistant(folder, "2", f"model: {{connector: openai, model: {STALLED}}}\n")
    async with AsyncExitStack() as exits:
        enter = exits.enter_async_context
        provider = await enter(providing())
        ports = {name: free_port() for module, name in MODULES.items() if module != GATEWAY}
        cuttable = await enter(connections({name: ("127.0.0.1", ports[name]) for name in ports}))
        settings = {
            **{f"HEDDLE_{name}_LISTEN": f"127.0.0.1:{port}" for name, port in ports.items()},
            **{f"HEDDLE_{name}_ADDRESS": address for name, address in cuttable.addresses.items()},
            "HEDDLE_CONNECTOR_OPENAI_BASE_URL": provider.url,
            "HEDDLE_CONNECTOR_OPENAI_API_KEY": "test",
            "HEDDLE_CONNECTOR_STALL_SECONDS": str(STALL_SECONDS),
            "HEDDLE_CONNECTOR_IMAGES_DIR": str(folder / "images"),
            "HEDDLE_TOOLS_WORKSPACE_DIR": str(folder / "workspaces"),
            "HEDDLE_ORCHESTRATOR_ASSISTANT_CACHE_SECONDS": "0",
            **environment,
        }
        heddle = await enter(processes(folder, tuple(MODULES), **settings))
        client = await enter(browser(heddle.url, timeout=PATIENCE))
        stage = Stage(heddle, provider, cuttable, Load(client))
        try:
            yield stage
        finally:
            await stage.load.stop()
