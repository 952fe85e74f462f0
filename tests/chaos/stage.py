"""All processes of Heddle under load, and the faults that can be injected."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from chaos.history import History
from chaos.load import KINDS, PATIENCE, drive
from integration.browser import browser
from integration.processes import MODULES, Processes, processes
from integration.provider import Provider, providing
from integration.whole import write_assistant
from patience import until

_CLIENTS = 2
"""Clients of each kind of load."""


@dataclass
class Stage:
    """Running processes, their load and its history."""

    heddle: Processes
    provider: Provider
    client: httpx.AsyncClient
    history: History = field(default_factory=History)
    load: list[asyncio.Task[None]] = field(default_factory=list)

    async def steady(self, kinds: Sequence[str] = KINDS) -> None:
        """Wait until every kind of load gets answers."""
        began = time.monotonic()
        await until(lambda: set(kinds) <= set(self.history.answered_since(began)), 60)

    async def recovered(self, kinds: Sequence[str] = KINDS) -> float:
        """Return the seconds from now until every kind of load got an answer again."""
        began = time.monotonic()
        await self.steady(kinds)
        return time.monotonic() - began

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
            report = (await self.client.get("/health")).json()
            if not report["services"][service]:
                return time.monotonic() - began
            await asyncio.sleep(0.1)
        raise AssertionError(f"/health did not notice {service} within {seconds:g} s")

    async def components(self, service: str) -> list[dict[str, Any]]:
        """Return the components of a service as `/health/details` shows them."""
        report = (await self.client.get("/health/details")).json()
        components: list[dict[str, Any]] = report["services"][service]["components"]
        return components

    async def check(self) -> None:
        """End the load, and compare the acknowledged writes with what is there."""
        await self.quiet()
        present: dict[str, str] = {}
        for key in tuple(self.history.acknowledged):
            response = await self.client.get(f"/assistants/{key}")
            if response.is_success:
                present[key] = response.json()["name"]
        self.history.compare(present)

    async def quiet(self) -> None:
        """End the load."""
        for task in self.load:
            task.cancel()
        await asyncio.gather(*self.load, return_exceptions=True)


@asynccontextmanager
async def chaos(
    folder: Path, kinds: Sequence[str] = KINDS, **environment: str
) -> AsyncIterator[Stage]:
    """Run all processes under load of some `kinds`; `environment` has further settings."""
    write_assistant(folder, "1", "model: {connector: openai, model: m}\n")
    async with providing() as provider:
        settings = {
            "HEDDLE_CONNECTOR_OPENAI_BASE_URL": provider.url,
            "HEDDLE_CONNECTOR_OPENAI_API_KEY": "test",
            "HEDDLE_ORCHESTRATOR_ASSISTANT_CACHE_SECONDS": "0",
            **environment,
        }
        async with (
            processes(folder, tuple(MODULES), **settings) as heddle,
            browser(heddle.url, timeout=PATIENCE) as client,
        ):
            stage = Stage(heddle, provider, client)
            stage.load = [
                asyncio.create_task(drive(client, kind, stage.history))
                for kind in kinds
                for _ in range(_CLIENTS)
            ]
            try:
                yield stage
            finally:
                await stage.quiet()
