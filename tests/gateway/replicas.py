"""Two replicas of every service, before which the gateway's suite runs with HEDDLE_TEST_REPLICAS.

The fixtures of the suite then use `INSTALLATION` instead of starting services of their own. The
tests stay the same.
"""

import asyncio
import contextlib
import hashlib
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import httpx2
from chaos.replicas import Replicas
from gateway.account_relay import Stage
from gateway.scripted import Scripted
from heddle_assistants.database.schema import metadata
from heddle_gateway.settings import GatewaySettings
from heddle_knowledge.store import KnowledgeStore, open_store
from integration.browser import browser
from integration.processes import GATEWAY, Processes
from pydantic import SecretStr
from runtime.ports import free_port

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

WHICH = [each for each in os.environ.get("HEDDLE_TEST_REPLICAS", "").split(",") if each]
"""Where the requests of a test go: to the `first` or `second` gateway, or to both in `turns`."""
SECRET = "s" * 32
_TABLES = [f'"{table.name}"' for table in metadata.sorted_tables]
_FILES = [f"heddle_knowledge.{each}" for each in ("uploads", "attached_files", "file_batches")]
_RESTORED = "INSERT INTO {0} OVERRIDING SYSTEM VALUE SELECT * FROM pristine.{0}"
_RESTARTED = """
SELECT setval(format('public.%I', sequencename), 1, false) FROM pg_sequences
WHERE schemaname = 'public'
"""
_PATIENCE = 60
_ATTEMPTS = 5
ASSISTANTS = "heddle_assistants"
_NEEDED = ("assistants", "connector", "orchestrator", "tools")
"""Services that every gateway reaches before a test begins."""
_REVISION = hashlib.sha256(b"openai\0\0").hexdigest()[:16]
"""What identifies the form of requests for embeddings, without prefixes."""
MAX_PAIRS = 6
"""Gateways with settings of their own that run at the same time."""


@dataclass
class Installation:
    """Running replicas, and pairs of gateways with other settings before the same services."""

    folder: Path
    replicas: Replicas
    database: str
    """The URL of the database that all share."""
    stage: Stage
    """Services for gateways of tests that script, count or fail calls."""
    scripted: Scripted
    server_port: int
    """Where tests run the server that gateways or services reach: a LAMB, a provider, a web site.

    Gateways in front of it serve several tests.
    """
    which: str = "turns"
    _pairs: dict[str, tuple[Processes, Processes]] = field(default_factory=dict)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    async def gateways(
        self, of_each: Sequence[Mapping[str, str]] = ({}, {}), **settings: Any
    ) -> "Gateways":
        """Return two gateways with these settings, and with variables of each."""
        variables = _variables(settings)
        environments = [{**variables, **own} for own in of_each]
        pair = self.replicas.pair
        if any(environments):
            key = json.dumps(environments, sort_keys=True)
            pair = self._pairs.pop(key) if key in self._pairs else self._started(environments)
            self._pairs[key] = pair
        while len(self._pairs) > MAX_PAIRS:
            _stop(self._pairs.pop(next(iter(self._pairs))))
        gateways = Gateways(self, pair)
        await gateways.are_ready()
        return gateways

    async def empty(self, *, collections: bool = False) -> None:
        """Remove what earlier tests stored."""
        if collections:
            async with self.open_store() as store:
                for name in await store.collections.all():
                    await store.collections.delete(name)
        await _run(
            self.database,
            "SET LOCAL session_replication_role = replica",
            *(f"DELETE FROM {name}" for name in (*_TABLES, *_FILES)),  # noqa: S608 - constants
            *(_RESTORED.format(name) for name in _TABLES),
            _RESTARTED,
        )

    def open_store(self) -> AbstractAsyncContextManager[KnowledgeStore]:
        """Open the collections as a further replica."""
        return open_store(self.database, HashingEmbedder(revision=_REVISION))

    def chosen(self, urls: tuple[str, str]) -> str:
        """Return where the next request goes."""
        if self.which == "turns":
            return urls[next(self._numbers) % 2]
        return urls[self.which == "second"]

    def keys_file(self, keys: Mapping[str, Any]) -> Path:
        """Return a file with keys and their owners."""
        return self.settings_file(json.dumps(keys), ".json")

    def settings_file(self, text: str, suffix: str) -> Path:
        """Return a file with this text, the same one for the same text."""
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        path = self.folder / f"settings-{name}{suffix}"
        path.write_text(text)
        return path

    async def end(self, pair: tuple[Processes, Processes]) -> None:
        """Let gateways with settings of their own stop in order."""
        self._pairs = {key: each for key, each in self._pairs.items() if each is not pair}
        for gateway in pair:
            gateway.running[GATEWAY].terminate()
        for gateway in pair:
            await asyncio.to_thread(gateway.running[GATEWAY].wait, _PATIENCE)

    def stop(self) -> None:
        """End the gateways with settings of their own."""
        for pair in self._pairs.values():
            _stop(pair)

    def _started(self, environments: Sequence[Mapping[str, str]]) -> tuple[Processes, Processes]:
        first, second = map(self._gateway, self.replicas.pair, environments)
        for gateway in (first, second):
            gateway.start(GATEWAY)
        return first, second

    def _gateway(self, replica: Processes, environment: Mapping[str, str]) -> Processes:
        port = free_port()
        own = {**replica.environment, "HEDDLE_GATEWAY_LISTEN": f"127.0.0.1:{port}"}
        folder = replica.folder / str(port)
        folder.mkdir()
        return Processes(folder, {**own, **environment}, {GATEWAY: port}, cwd=folder)


@dataclass(frozen=True)
class Gateways:
    """Two gateways, of which the installation says which one a request goes to."""

    installation: Installation
    pair: tuple[Processes, Processes]

    @property
    def urls(self) -> tuple[str, str]:
        return self.pair[0].url, self.pair[1].url

    @property
    def logs(self) -> list[str]:
        """What each has logged."""
        return [each.log(GATEWAY) for each in self.pair]

    @property
    def address(self) -> str:
        """Where one of them listens."""
        return self.installation.chosen(self.urls).removeprefix("http://")

    def log(self) -> str:
        """Return what both, and all account services, have logged."""
        accounts = (each.log(ASSISTANTS) for each in self.installation.replicas.pair)
        return "".join([*(each.log(GATEWAY) for each in self.pair), *accounts])

    async def are_ready(self) -> None:
        """Wait until both reach all services."""
        async with browser() as client, asyncio.timeout(_PATIENCE):
            for gateway in self.pair:
                while not await _is_ready(client, gateway):
                    await asyncio.sleep(0.05)

    def client(self, key: str = "", url: str = "") -> httpx.AsyncClient:
        """Return a client, which names the gateway at `url` as its host."""
        client = browser(url or self.urls[0], key)
        client._transport = _Chosen(self)  # noqa: SLF001 - `browser` says all the rest
        return client

    def transport(self) -> httpx2.AsyncBaseTransport:
        """Return what the packages `openai` and `mcp` send their requests with."""
        return _Chosen2(self)


class _Chosen(httpx.AsyncHTTPTransport):
    def __init__(self, gateways: Gateways) -> None:
        super().__init__()
        self._gateways = gateways

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        target = httpx.URL(self._gateways.installation.chosen(self._gateways.urls))
        request.url = request.url.copy_with(host=target.host, port=target.port)
        return await super().handle_async_request(request)


class _Chosen2(httpx2.AsyncHTTPTransport):
    def __init__(self, gateways: Gateways) -> None:
        super().__init__()
        self._gateways = gateways

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        target = httpx2.URL(self._gateways.installation.chosen(self._gateways.urls))
        request.url = request.url.copy_with(host=target.host, port=target.port)
        return await super().handle_async_request(request)


async def remember_rows(database: str) -> None:
    """Store the rows that the services have when nothing was done yet."""
    await _run(
        database,
        "CREATE SCHEMA pristine",
        *(f"CREATE TABLE pristine.{name} AS TABLE {name}" for name in _TABLES),
    )


async def _run(database: str, *statements: str) -> None:
    """Run statements at once, again if the services' own work in the background is in the way."""
    connection = await asyncpg.connect(database)
    try:
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(asyncpg.DeadlockDetectedError):
                async with connection.transaction():
                    await connection.execute(";".join(statements))
                return
        raise AssertionError("each attempt ended in a deadlock")
    finally:
        await connection.close()


def _variables(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment variables of the gateway's settings."""
    variables = {}
    for name, value in settings.items():
        if value is not None:
            known = GatewaySettings.model_fields.get(name)
            prefix = "HEDDLE_GATEWAY_" if known else "HEDDLE_" if name.islower() else ""
            alias = known.validation_alias if known else None
            variables[str(alias or f"{prefix}{name.upper()}")] = _text(value)
    return variables


def _text(value: Any) -> str:
    match value:
        case SecretStr():
            return value.get_secret_value()
        case bool() | dict() | list() | tuple():
            return json.dumps(value)
        case _:
            return str(value)


async def _is_ready(client: httpx.AsyncClient, gateway: Processes) -> bool:
    process = gateway.running.get(GATEWAY)
    assert process is None or process.poll() is None, gateway.log(GATEWAY)[-3000:]
    with contextlib.suppress(httpx.HTTPError):
        services = (await client.get(f"{gateway.url}/health")).json()["services"]
        return all(services[name] for name in _NEEDED)
    return False


def _stop(pair: tuple[Processes, Processes]) -> None:
    for gateway in pair:
        gateway.kill(GATEWAY)


INSTALLATION: Installation | None = None


def server_port() -> int:
    """Return where a test runs its server: before two replicas, where their settings say."""
    return INSTALLATION.server_port if INSTALLATION else 0


def gateways_in_use() -> int:
    """Return how many gateways the requests of a test reach."""
    return 2 if INSTALLATION and INSTALLATION.which == "turns" else 1
