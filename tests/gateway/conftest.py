"""A gateway on a free port between real clients and scripted services."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from gateway.library import Library, library
from gateway.neighbours import Neighbours, Orchestrator, serving_neighbours
from heddle_gateway.app import GatewaySettings, app
from heddle_gateway.http.server import serving
from heddle_gateway.services import ServiceClients
from heddle_gateway.studio_pages import FOLDER
from integration.browser import browser

from gateway import replicas

if replicas.WHICH:
    from gateway.installing import installation, pytest_collection_modifyitems, replica
    from shared_servers import object_server, vector_server

    __all__ = [
        "installation",
        "object_server",
        "pytest_collection_modifyitems",
        "replica",
        "vector_server",
    ]

KEY = "lamb_test_key_0123456789"


@dataclass(frozen=True)
class Bench:
    """A running gateway, a client with a key, and the services behind."""

    address: str
    client: httpx.AsyncClient
    neighbours: Neighbours
    services: ServiceClients

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    @property
    def orchestrator(self) -> Orchestrator:
        return self.neighbours.orchestrator

    async def chat(self, headers: dict[str, str] | None = None, **body: Any) -> httpx.Response:
        """Ask assistant 1 something."""
        asked = {"model": "lamb_assistant.1", "messages": [{"role": "user", "content": "hi"}]}
        return await self.client.post(
            "/v1/chat/completions", json={**asked, **body}, headers=headers
        )


Start = Callable[..., AbstractAsyncContextManager[Bench]]


@asynccontextmanager
async def gateway(
    transport: str = "local",
    *,
    secret: str | None = None,
    studio_folder: Path = FOLDER,
    **settings: Any,
) -> AsyncGenerator[Bench]:
    """Yield a gateway with these settings."""
    neighbours = Neighbours()
    given: dict[str, Any] = {"listen": "127.0.0.1:0", "drain_wait": 0.0, "shutdown_grace": 0.5}
    if not settings.get("development"):
        given["api_key"] = KEY
    complete = GatewaySettings.model_validate(
        {**given, **settings, "HEDDLE_IDENTITY_SECRET": secret}
    )
    async with (
        serving_neighbours(neighbours, transport, secret) as peers,
        serving(app(complete, peers, studio_folder), complete) as address,
        browser(f"http://{address}", KEY) as client,
    ):
        yield Bench(address, client, neighbours, peers)


@pytest.fixture(params=["rpc"] if replicas.WHICH else ["rpc", "local"])
def transport(request: pytest.FixtureRequest) -> str:
    """How the gateway calls the services: over gRPC, or within the process."""
    return str(request.param)


@pytest.fixture
async def bench(transport: str) -> AsyncIterator[Bench]:
    """A gateway with its defaults."""
    async with gateway(transport) as running:
        yield running


@pytest.fixture
def start() -> Start:
    """Start a gateway with other settings."""
    return gateway


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Library]:
    """A gateway with its defaults, before the real service that keeps the assistants."""
    async with library(tmp_path) as running:
        yield running
