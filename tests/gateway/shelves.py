"""A gateway before the real knowledge and file services, and people with keys of their own."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import httpx2
from assistants.both_services import both_services
from gateway.library import PEOPLE, SECRET
from heddle_assistants.app import AssistantsSettings
from heddle_gateway.app import GatewaySettings, app
from heddle_gateway.http.server import serving
from heddle_gateway.services import ServiceClients
from heddle_knowledge.store import KnowledgeStore, open_store
from heddle_knowledge.testing import HashingEmbedder
from heddle_runtime.server import running
from heddle_runtime.settings import ServiceSettings
from integration.browser import browser
from knowledge.opening import NOWHERE, Web, knowledge_and_files
from openai import AsyncOpenAI

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

    def __getitem__(self, person: str) -> httpx.AsyncClient:
        return self.people[person]


def key_of(person: str) -> str:
    """Return a person's key."""
    return f"key-of-{person}-0123456789"


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
    **settings: Any,
) -> AsyncIterator[Shelves]:
    """Run both services and the gateway; with `more_people`, also the assistants service.

    The services may fetch from `web`.
    """
    if replicas.INSTALLATION:
        async with _at_replicas(replicas.INSTALLATION, more_people or {}, settings) as shared:
            yield shared
        return
    people_of_all = {**PEOPLE, **(more_people or {})}
    keys = {key_of(person): who for person, who in people_of_all.items()}
    (folder / "keys.json").write_text(json.dumps(keys))
    quick = {"HEDDLE_IDENTITY_SECRET": SECRET, "drain_wait": 0.0, "shutdown_grace": 0.2}
    own = GatewaySettings.model_validate(
        {**quick, "listen": "127.0.0.1:0", "api_keys": folder / "keys.json", **settings}
    )
    theirs = ServiceSettings.model_validate({**quick, "listen": "127.0.0.1:0"})
    async with AsyncExitStack() as exits:
        store = await exits.enter_async_context(open_store(folder / "store", HashingEmbedder()))
        services = knowledge_and_files(store, folder / "uploads", web=web)
        behind = (await exits.enter_async_context(running(services, theirs))).local
        accounts = behind
        database = f"sqlite:///{folder}/heddle.db"
        if more_people is not None:
            own_accounts = AssistantsSettings.model_validate(
                {**quick, "listen": "127.0.0.1:0", "database": database, "assistants_dir": folder}
            )
            real = await exits.enter_async_context(
                running(both_services(own_accounts), own_accounts)
            )
            accounts = real.local
        peers = ServiceClients(*[behind] * 4, accounts, accounts)
        url = f"http://{await exits.enter_async_context(serving(app(own, peers), own))}"
        people: dict[str, httpx.AsyncClient] = {}
        clients: dict[str, AsyncOpenAI] = {}
        for person in people_of_all:
            people[person] = await exits.enter_async_context(browser(url, key_of(person)))
            clients[person] = await exits.enter_async_context(
                AsyncOpenAI(
                    base_url=f"{url}/v1",
                    api_key=key_of(person),
                    max_retries=0,
                    _strict_response_validation=True,
                )
            )
        yield Shelves(url, store, people, clients, database)
