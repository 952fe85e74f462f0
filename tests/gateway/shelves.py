"""A gateway before the real knowledge and file services, and people with keys of their own."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import httpx
import httpx2
import pytest
from assistants.both_services import both_services
from gateway.library import PEOPLE, SECRET
from heddle_assistants.app import AssistantsSettings
from heddle_gateway.app import GatewaySettings, app
from heddle_gateway.http.server import serving
from heddle_gateway.services import SERVICES, ServiceClients
from heddle_knowledge.store import KnowledgeStore, open_store
from heddle_runtime.serving.server import running
from heddle_runtime.settings.service import ServiceSettings
from integration.browser import NO_CERTIFICATES, browser
from knowledge.opening import NOWHERE, Web, knowledge_and_files
from knowledge.shared_parser import shared_parser
from new_databases import database_in
from openai import AsyncOpenAI

from benchmarks.retrieval.hashing_embedder import HashingEmbedder
from gateway import replicas


@dataclass(frozen=True)
class Shelves:
    """A running gateway, the store behind it, and clients for everybody."""

    url: str
    store: KnowledgeStore
    people: dict[str, httpx.AsyncClient]
    openai: dict[str, AsyncOpenAI]
    database: str
    """The URL of the database of the assistants service, if there is one."""
    number: int = 0
    """Of the people, if tests share the gateway."""

    def __getitem__(self, person: str) -> httpx.AsyncClient:
        return self.people[person]

    def key_of(self, person: str) -> str:
        """Return a person's key."""
        return key_of(person, self.number)


def key_of(person: str, number: int = 0) -> str:
    """Return a person's key."""
    return f"key-of-{person}{number or ''}-0123456789"


@asynccontextmanager
async def _at_replicas(
    installation: replicas.Installation,
    more_people: Mapping[str, Mapping[str, Any]],
    settings: dict[str, Any],
) -> AsyncIterator[Shelves]:
    await installation.empty(collections=True)
    people_of_all = {**PEOPLE, **more_people}
    if more_people:
        keys = {key_of(person): who for person, who in people_of_all.items()}
        settings = {**settings, "api_keys": installation.keys_file(keys)}
    gateways = await installation.gateways(**settings)
    async with AsyncExitStack() as exits:
        store = await exits.enter_async_context(installation.open_store())
        people = {
            person: await exits.enter_async_context(gateways.client(key_of(person)))
            for person in people_of_all
        }
        clients = {
            person: await exits.enter_async_context(
                AsyncOpenAI(
                    base_url=f"{gateways.urls[0]}/v1",
                    api_key=key_of(person),
                    max_retries=0,
                    http_client=httpx2.AsyncClient(transport=gateways.transport()),
                    _strict_response_validation=True,
                )
            )
            for person in people_of_all
        }
        url = f"http://{gateways.address}"
        yield Shelves(url, store, people, clients, installation.database)


@asynccontextmanager
async def shelves(
    folder: Path,
    more_people: Mapping[str, Mapping[str, Any]] | None = None,
    web: Web = NOWHERE,
    keys: Mapping[str, Mapping[str, Any]] | None = None,
    **settings: Any,
) -> AsyncIterator[Shelves]:
    """Run both services and the gateway; with `more_people`, also the assistants service.

    The services may fetch from `web`. There are more `keys` than those of the people.
    """
    if replicas.INSTALLATION:
        async with _at_replicas(replicas.INSTALLATION, more_people or {}, settings) as shared:
            yield shared
        return
    people_of_all = {**PEOPLE, **(more_people or {})}
    known = {**{key_of(person): who for person, who in people_of_all.items()}, **(keys or {})}
    (folder / "keys.json").write_text(json.dumps(known))
    quick = {"HEDDLE_IDENTITY_SECRET": SECRET, "drain_wait": 0.0, "shutdown_grace": 0.2}
    own = GatewaySettings.model_validate(
        {**quick, "listen": "127.0.0.1:0", "api_keys": folder / "keys.json", **settings}
    )
    theirs = ServiceSettings.model_validate({**quick, "listen": "127.0.0.1:0"})
    async with AsyncExitStack() as exits:
        embedder = HashingEmbedder()

        async def embedders() -> list[HashingEmbedder]:
            return [embedder]

        store = await exits.enter_async_context(
            open_store(folder / "store", embedder, parser=shared_parser())
        )
        services = knowledge_and_files(store, folder, web=web, embedders=embedders)
        behind = (await exits.enter_async_context(running(services, theirs))).local
        accounts = behind
        database = f"sqlite:///{folder}/heddle.db"
        if more_people is not None:
            own_accounts = AssistantsSettings.model_validate(
                {
                    **quick,
                    "listen": "127.0.0.1:0",
                    "database": database_in(folder),
                    "assistants_dir": folder,
                }
            )
            real = await exits.enter_async_context(
                running(both_services(own_accounts), own_accounts)
            )
            accounts = real.local
        channels = dict.fromkeys(SERVICES, behind)
        peers = ServiceClients(**channels | {"assistants": accounts, "migration": accounts})
        url = f"http://{await exits.enter_async_context(serving(app(own, peers), own))}"
        people, clients = await exits.enter_async_context(_clients(url, people_of_all))
        yield Shelves(url, store, people, clients, database)


@asynccontextmanager
async def _clients(
    url: str, people: Iterable[str], number: int = 0
) -> AsyncIterator[tuple[dict[str, httpx.AsyncClient], dict[str, AsyncOpenAI]]]:
    """Yield clients of people, also OpenAI's."""
    async with AsyncExitStack() as exits:
        browsers: dict[str, httpx.AsyncClient] = {}
        clients: dict[str, AsyncOpenAI] = {}
        for person in people:
            key = key_of(person, number)
            browsers[person] = await exits.enter_async_context(browser(url, key))
            clients[person] = await exits.enter_async_context(
                AsyncOpenAI(
                    base_url=f"{url}/v1",
                    api_key=key,
                    max_retries=0,
                    http_client=httpx2.AsyncClient(verify=NO_CERTIFICATES),
                    _strict_response_validation=True,
                )
            )
        yield browsers, clients


SHARED_LOOP: Literal["session", "module"] = "session" if replicas.WHICH else "module"
"""Where tests run that share a gateway: replicas reach the server of embeddings of the session."""
ON_SHARED_LOOP = pytest.mark.asyncio(loop_scope=SHARED_LOOP)
"""Marks a test that uses a gateway which other tests use too."""
SHARING: Literal["function", "module"] = "function" if replicas.WHICH else "module"
"""The scope of such a gateway. Two that run at once would share the replicas' data."""
NUMBERS = range(1, 201)
"""Of the people of tests that share a gateway."""


def _numbered(owner: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the same owner in an organisation of its own."""
    names = {"subject", "organization"} & owner.keys()
    return {**owner, **{name: f"{number}-{owner[name]}" for name in names}}


@dataclass
class SharedShelves:
    """A gateway for several tests, each of which has people of its own."""

    folder: Path
    running: Shelves | None
    """None before replicas, which are emptied for each test."""
    numbers: Iterator[int] = field(default_factory=lambda: iter(NUMBERS))

    @asynccontextmanager
    async def of_new_people(self) -> AsyncIterator[Shelves]:
        """Yield the gateway with clients of people of whom there is nothing yet."""
        if self.running is None:
            async with shelves(self.folder) as alone:
                yield alone
            return
        number = next(self.numbers)
        async with _clients(self.running.url, PEOPLE, number) as (people, clients):
            yield replace(self.running, people=people, openai=clients, number=number)


@asynccontextmanager
async def shared_shelves(folder: Path) -> AsyncIterator[SharedShelves]:
    """Run both services and the gateway for several tests."""
    if replicas.INSTALLATION:
        yield SharedShelves(folder, None)
        return
    keys = {
        key_of(person, number): _numbered(owner, number)
        for number in NUMBERS
        for person, owner in PEOPLE.items()
    }
    async with shelves(folder, keys=keys) as running:
        yield SharedShelves(folder, running)
