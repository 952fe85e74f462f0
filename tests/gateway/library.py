"""A gateway before the real service of the assistants, and people with keys of their own."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from assistants.both_services import both_services
from gateway.neighbours import Neighbours
from heddle_assistants.app import AssistantsSettings
from heddle_assistants.database.schema import assistants, organizations
from heddle_gateway.app import GatewaySettings, app
from heddle_gateway.http.server import serving
from heddle_gateway.services import SERVICES, ServiceClients
from heddle_runtime.http.egress import SETTING
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Binding, running
from heddle_runtime.settings.service import ServiceSettings
from heddle_runtime.storage.database.engine import Database, open_database
from integration.browser import browser
from new_databases import database_in
from sqlalchemy import insert, select

from gateway import replicas

SECRET = "s" * 32
PEOPLE = {
    "ana": {"subject": "ana@example.org", "organization": "uni", "scopes": ["creator"]},
    "ben": {"subject": "ben@example.org", "organization": "uni", "scopes": ["creator"]},
    "mia": {"subject": "mia@example.org", "organization": "uni", "scopes": []},
    "head": {
        "subject": "head@example.org",
        "organization": "uni",
        "scopes": ["organization_admin"],
    },
    "eve": {"subject": "eve@example.com", "organization": "college", "scopes": ["creator"]},
    "root": {"subject": "root@example.net", "scopes": ["admin"]},
}
METADATA = {
    "prompt_processor": "simple_augment",
    "connector": "openai",
    "llm": "gpt-4o-mini",
    "rag_processor": "simple_rag",
    "file_path": "",
    "capabilities": {"vision": True},
    "quota": {"enabled": True, "cost_limit_usd": 5.0},
}

TUTOR: dict[str, Any] = {
    "name": "biology",
    "title": "Biology tutor",
    "description": "Helps with cells.",
    "system_prompt": "You help.",
    "prompt_template": "{context}\n\n{user_input}",
    "model": {"connector": "openai", "model": "gpt-x"},
    "tools": [
        {
            "id": "notes",
            "type": "simple_rag",
            "mode": "augment",
            "slot": "context",
            "config": {"collections": ["4"], "top_k": 3, "threshold": 0.5},
            "on_failure": "omit",
            "timeout": 2.5,
        },
        {"id": "weather", "type": "weather", "mode": "function", "enabled": False},
    ],
    "strategy": "sequential",
    "prompt_processor": "simple_augment",
    "capabilities": {"vision": True},
    "verbose": True,
    "cite_sources": True,
    "max_tool_rounds": 12,
    "extra": {"quota": {"enabled": True, "cost_limit_usd": 5.0}, "big": 12345678901234567890},
}

ServeTools = Callable[[str], AbstractAsyncContextManager[str]]
"""Serves tools that read settings at the address of the account service."""


@dataclass(frozen=True)
class Library:
    """A running gateway, its database, and a client for everybody."""

    address: str
    database: Database
    neighbours: Neighbours
    people: dict[str, httpx.AsyncClient]

    def __getitem__(self, person: str) -> httpx.AsyncClient:
        return self.people[person]

    async def legacy(self, **columns: Any) -> int:
        """Keep an assistant of Ana's as LAMB does, and return its id."""
        async with self.database.writing() as connection:
            known = select(organizations.c.id).where(organizations.c.slug == "uni")
            home = await connection.scalar(known)
            if home is None:
                made = insert(organizations).values(
                    slug="uni", name="Uni", created_at=1, updated_at=1
                )
                home = (await connection.execute(made.returning(organizations.c.id))).scalar_one()
            row = {
                "organization_id": home,
                "name": "7_tutor",
                "owner": "ana@example.org",
                "description": "Helps.",
                "metadata": json.dumps(METADATA),
                "system_prompt": "You help.",
                "prompt_template": "{context}\n\n{user_input}",
                "rag_endpoint": "",
                "rag_top_k": 5,
                "rag_collections": "4, 7",
                "created_at": 1_700_000_000,
                "updated_at": 1_700_000_000,
                **columns,
            }
            query = insert(assistants).values(**row).returning(assistants.c.id)
            return int((await connection.execute(query)).scalar_one())

    async def stored(self, identifier: int) -> dict[str, Any]:
        """Return the row of an assistant."""
        async with self.database.reading() as connection:
            query = select(assistants).where(assistants.c.id == identifier)
            return dict((await connection.execute(query)).mappings().one())


def _key_of(person: str) -> str:
    return f"key_of_{person}_0123456789"


@asynccontextmanager
async def _at_replicas(
    installation: replicas.Installation, settings: dict[str, Any], *, scripted: bool
) -> AsyncGenerator[Library]:
    await installation.empty()
    if scripted:
        await installation.scripted.reset()
        settings = {**installation.scripted.settings("assistants", "migration"), **settings}
    gateways = await installation.gateways(**settings)
    async with AsyncExitStack() as exits:
        database = await exits.enter_async_context(open_database(installation.database))
        people = {
            name: await exits.enter_async_context(gateways.client(_key_of(name))) for name in PEOPLE
        }
        yield Library(gateways.address, database, installation.scripted.neighbours, people)


@asynccontextmanager
async def library(
    folder: Path,
    serve_tools: ServeTools | None = None,
    private_networks: str = "",
    followed: Path | None = None,
    *,
    scripted: bool = False,
    **settings: Any,
) -> AsyncGenerator[Library]:
    """Yield a gateway with these settings. What it keeps lies in `folder`.

    The tools are scripted, unless `serve_tools` runs others at the address that it yields. Settings
    of organisations may name servers in `private_networks`. `followed` is a LAMB database. Before
    replicas, the services are real unless they are to be `scripted`.
    """
    if replicas.INSTALLATION:
        async with _at_replicas(replicas.INSTALLATION, settings, scripted=scripted) as shared:
            yield shared
        return
    keys = {_key_of(name): owner for name, owner in PEOPLE.items()}
    (folder / "keys").mkdir()
    (folder / "keys" / "keys.json").write_text(json.dumps(keys))
    url = database_in(folder)
    quick = {"HEDDLE_IDENTITY_SECRET": SECRET, "drain_wait": 0.0, "shutdown_grace": 0.2}
    own = GatewaySettings.model_validate(
        {**quick, "listen": "127.0.0.1:0", "api_keys": folder / "keys" / "keys.json", **settings}
    )
    kept = AssistantsSettings.model_validate(
        {
            **quick,
            "listen": "127.0.0.1:0",
            "database": url,
            "assistants_dir": folder,
            SETTING: private_networks,
        }
    )
    neighbours = Neighbours()

    @asynccontextmanager
    async def others() -> AsyncGenerator[Sequence[Binding]]:
        yield neighbours.bindings()

    async with AsyncExitStack() as exits:
        served = await exits.enter_async_context(
            running(others(), ServiceSettings.model_validate(quick))
        )
        real = await exits.enter_async_context(
            running(both_services(kept, followed=followed), kept)
        )
        to_others = await exits.enter_async_context(
            channel(served.address, secret=kept.identity_secret)
        )
        to_real = await exits.enter_async_context(
            channel(real.address, *SERVICES["assistants"], secret=kept.identity_secret)
        )
        to_tools = to_others
        if serve_tools is not None:
            address = await exits.enter_async_context(serve_tools(real.address))
            to_tools = await exits.enter_async_context(
                channel(address, *SERVICES["tools"], secret=kept.identity_secret)
            )
        channels = dict.fromkeys(SERVICES, to_others)
        channels |= {"tools": to_tools, "assistants": to_real, "migration": to_real}
        peers = ServiceClients(**channels)
        address = await exits.enter_async_context(serving(app(own, peers), own))
        database = await exits.enter_async_context(open_database(url))
        people = {
            name: await exits.enter_async_context(browser(f"http://{address}", key))
            for name, key in zip(PEOPLE, keys, strict=True)
        }
        yield Library(address, database, neighbours, people)
