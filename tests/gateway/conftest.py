"""A gateway on a free port between real clients and scripted services."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import pytest_asyncio
from gateway.extensions import without_lamb
from gateway.library import Library, library
from gateway.neighbours import Neighbours, Orchestrator, serving_neighbours
from gateway.shelves import SHARED_LOOP, SHARING, SharedShelves, Shelves, shared_shelves
from heddle_assistants.database.schema import assistants
from heddle_gateway.app import GatewaySettings, app
from heddle_gateway.http.server import serving
from heddle_gateway.pages import documentation
from heddle_gateway.services import ServiceClients
from heddle_gateway.studio_pages import FOLDER
from integration.browser import NO_CERTIFICATES, browser
from integration.whole import whole
from openai import AsyncOpenAI
from sqlalchemy import String, update

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
    services: ServiceClients | None = None
    """How a gateway in this process calls the services."""
    gateways: replicas.Gateways | None = None
    """The two gateways in processes of their own, if there are any."""

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    @property
    def orchestrator(self) -> Orchestrator:
        return self.neighbours.orchestrator

    @property
    def log(self) -> str:
        """What gateways in processes of their own have logged."""
        return "".join(self.gateways.logs) if self.gateways else ""

    async def stop(self) -> None:
        """Stop gateways in other processes. One in this process stops when its block is left."""
        if self.gateways:
            await self.gateways.installation.end(self.gateways.pair)

    @asynccontextmanager
    async def of_one_gateway(self) -> AsyncGenerator["Bench"]:
        """Yield this with a client whose requests all go to one gateway, as limits are each's."""
        async with browser(self.url, KEY) as client:
            yield replace(self, client=client, gateways=None)

    @property
    def transport(self) -> httpx2.AsyncBaseTransport | None:
        """What clients use that do not send their requests to `url`, but to the next gateway."""
        return self.gateways.transport() if self.gateways else None

    def openai(self) -> AsyncOpenAI:
        """Return OpenAI's client, in its strictest mode."""
        return AsyncOpenAI(
            base_url=f"{self.url}/v1",
            api_key=KEY,
            http_client=httpx2.AsyncClient(transport=self.transport, verify=NO_CERTIFICATES),
            max_retries=0,
            _strict_response_validation=True,
        )

    async def connect(
        self, limit: int = 2**16
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection, to the next gateway if there are two."""
        address = self.gateways.address if self.gateways else self.address
        host, _, port = address.rpartition(":")
        return await asyncio.open_connection(host, int(port), limit=limit)

    async def chat(self, headers: dict[str, str] | None = None, **body: Any) -> httpx.Response:
        """Ask assistant 1 something."""
        asked = {"model": "lamb_assistant.1", "messages": [{"role": "user", "content": "hi"}]}
        return await self.client.post(
            "/v1/chat/completions", json={**asked, **body}, headers=headers
        )


Start = Callable[..., AbstractAsyncContextManager[Bench]]


@asynccontextmanager
async def _at_replicas(
    installation: replicas.Installation, settings: dict[str, Any]
) -> AsyncGenerator[Bench]:
    scripted = installation.scripted
    await scripted.reset()
    gateways = await installation.gateways(**{**scripted.settings(), **settings})
    address = gateways.address
    async with gateways.client(KEY, f"http://{address}") as client:
        yield Bench(address, client, scripted.neighbours, gateways=gateways)


@asynccontextmanager
async def gateway(
    transport: str = "local",
    *,
    secret: str | None = None,
    studio_folder: Path = FOLDER,
    documentation_folder: Path = documentation.FOLDER,
    **settings: Any,
) -> AsyncGenerator[Bench]:
    """Yield a gateway with these settings."""
    if not settings.get("development"):
        settings = {"api_key": KEY, **settings}
    if replicas.INSTALLATION:
        async with _at_replicas(replicas.INSTALLATION, settings) as shared:
            yield shared
        return
    settings, extensions = without_lamb(settings)
    neighbours = Neighbours()
    quick: dict[str, Any] = {"listen": "127.0.0.1:0", "drain_wait": 0.0, "shutdown_grace": 0.5}
    complete = GatewaySettings.model_validate(
        {**quick, **settings, "HEDDLE_IDENTITY_SECRET": secret}
    )
    async with (
        serving_neighbours(neighbours, transport, secret) as peers,
        serving(
            app(complete, peers, studio_folder, extensions, documentation_folder), complete
        ) as address,
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


@pytest_asyncio.fixture(scope=SHARING, loop_scope=SHARED_LOOP)
async def shelf_of_all(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    async with library(tmp_path_factory.mktemp("library")) as running:
        yield running


@pytest_asyncio.fixture(loop_scope=SHARED_LOOP)
async def shared_shelf(shelf_of_all: Library) -> Library:
    """The same for several tests of a module. What others keep there has names of its own."""
    async with shelf_of_all.database.writing() as connection:
        taken = assistants.c.id.cast(String)
        await connection.execute(update(assistants).values(name="of_another_test_" + taken))
    return shelf_of_all


@pytest.fixture
async def scripted_shelf(tmp_path: Path) -> AsyncIterator[Library]:
    """The same, and all other services are scripted before replicas too."""
    async with library(tmp_path, scripted=True) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope=SHARED_LOOP)
async def open_shelves(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SharedShelves]:
    """The real knowledge and file services behind a gateway, for all tests of a module."""
    async with shared_shelves(tmp_path_factory.mktemp("shelves")) as shared:
        yield shared


@pytest_asyncio.fixture(loop_scope=SHARED_LOOP)
async def shelves_of_new_people(open_shelves: SharedShelves) -> AsyncIterator[Shelves]:
    """The same, with people of whom there is nothing yet."""
    async with open_shelves.of_new_people() as own:
        yield own


@pytest.fixture
async def operator(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """An operator's client of all of Heddle, of which nothing is scripted."""
    if replicas.INSTALLATION:
        async with library(tmp_path) as people:
            yield people["root"]
        return
    async with whole(tmp_path) as running, browser(running.url) as client:
        yield client
