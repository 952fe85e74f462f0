"""A gateway before the real account service."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from gateway.account_relay import Counted
from gateway.conftest import KEY
from gateway.extensions import without_lamb
from gateway.neighbours import Neighbours, serving_neighbours
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle_assistants.accounts.bootstrap import (
    AccountSettings,
    account_service,
    encryption_keys,
)
from heddle_assistants.audit.log import open_audit_log
from heddle_gateway.app import GatewaySettings, app
from heddle_gateway.http.server import serving
from heddle_gateway.studio_pages import FOLDER
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_call_options
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import LEAST_ROLES
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Binding, Running, running
from heddle_runtime.storage.database.engine import open_database
from integration.browser import browser
from new_databases import database_in

from gateway import replicas

SECRET = "a-secret-of-at-least-32-characters"
ADMIN = Identity("operator", scopes=("admin",))
CREATORS = [right for right, least in LEAST_ROLES.items() if least in ("member", "creator")]
"""The rights of creators."""
ANN = "ann@uni.example"


@dataclass(frozen=True)
class Bench:
    """A gateway, a client, and the services behind."""

    client: httpx.AsyncClient
    neighbours: Neighbours
    accounts: Counted
    logged: Callable[[], str]
    """Returns what gateways and account services in processes of their own have logged."""

    async def chat(self, key: str, headers: Any = (), **body: Any) -> httpx.Response:
        """Ask assistant 1 something with a key."""
        defaults = {"model": "lamb_assistant.1", "messages": [{"role": "user", "content": "hi"}]}
        sent = [("authorization", f"Bearer {key}"), *headers]
        return await self.client.post(
            "/v1/chat/completions", json={**defaults, **body}, headers=sent
        )

    @property
    def callers(self) -> list[Identity]:
        """Who called the orchestrator."""
        return [caller.identity for caller in self.neighbours.orchestrator.callers]

    async def key(self, **key: Any) -> pb.CreateKeyResponse:
        """Make a key of the organisation `uni`."""
        wanted = pb.Key(**{"name": "test", "organization": "uni", **key})
        response = await self.operator("CreateKey", pb.CreateKeyRequest(key=wanted))
        assert isinstance(response, pb.CreateKeyResponse)
        return response

    async def organization(self, slug: str, **settings: Any) -> None:
        """Make an organisation, or replace its settings."""
        organization = pb.Organization(slug=slug, settings_json=json.dumps(settings))
        put = pb.PutOrganizationRequest(organization=organization)
        await self.operator("PutOrganization", put)

    async def user(
        self, email: str, organization: str = "uni", role: str = "creator", **more: Any
    ) -> None:
        """Make or change a user."""
        request = pb.PutUserRequest(email=email, organization=organization, role=role, **more)
        await self.operator("PutUser", request)

    async def add(self, email: str, organization: str, **more: Any) -> None:
        """Make a user of another organisation one of this one, as its administrators do."""
        CALLER.set(Caller("", Identity("boss", organization, ("organization_admin",))))
        request = pb.PutUserRequest(email=email, organization=organization, **more)
        await self.accounts.stub.PutUser(request, **new_call_options(10))

    async def operator(self, method: str, request: Any) -> Any:
        """Call the account service as the operator."""
        CALLER.set(Caller("", ADMIN))
        return await getattr(self.accounts.stub, method)(request, **new_call_options(10))


@asynccontextmanager
async def accounts(folder: Path) -> AsyncGenerator[Running]:
    """Serve the accounts of a new database in `folder`."""
    url = database_in(folder)
    settings = AccountSettings.model_validate(
        {"HEDDLE_IDENTITY_SECRET": SECRET, "drain_wait": 0.0, "shutdown_grace": 0.2}
    )

    @asynccontextmanager
    async def bindings() -> AsyncGenerator[Sequence[Binding]]:
        async with open_database(url) as database:
            audit = await open_audit_log(database, encryption_keys(url, settings))
            yield [await account_service(database, audit, url, settings)]

    async with running(bindings(), settings) as service:
        yield service


@asynccontextmanager
async def at_replicas(
    installation: replicas.Installation, settings: Mapping[str, Any]
) -> AsyncGenerator[replicas.Gateways]:
    """Yield two gateways with these settings before the scripted services of the stage."""
    stage = installation.stage
    await installation.empty()
    stage.reset()
    files = {
        name: installation.settings_file(value.read_text(), value.suffix)
        for name, value in settings.items()
        if isinstance(value, Path)
    }
    gateways = await installation.gateways(
        stage.settings(), **{"api_key": KEY, **settings, **files}
    )
    await stage.caches_end(gateways.urls)
    stage.accounts.calls_of_each.clear()
    yield gateways
    stage.note_caches(gateways.urls)


@asynccontextmanager
async def gateway(
    folder: Path, transport: str, *, studio_folder: Path = FOLDER, **settings: Any
) -> AsyncGenerator[Bench]:
    """Yield a gateway, the organisation `uni` and its user `ann@uni.example`."""
    if replicas.INSTALLATION:
        stage = replicas.INSTALLATION.stage
        async with at_replicas(replicas.INSTALLATION, settings) as pair, pair.client() as client:
            bench = Bench(client, stage.neighbours, stage.accounts, pair.log)
            await _add_ann(bench)
            yield bench
        return
    settings, extensions = without_lamb(settings)
    neighbours = Neighbours()
    given = {"listen": "127.0.0.1:0", "drain_wait": 0.0, "shutdown_grace": 0.5, "api_key": KEY}
    complete = GatewaySettings.model_validate(
        {**given, **settings, "HEDDLE_IDENTITY_SECRET": SECRET}
    )
    async with (
        accounts(folder) as service,
        channel(
            service.address,
            pb.DESCRIPTOR.services_by_name["AccountService"],
            secret=complete.identity_secret,
        ) as wire,
        serving_neighbours(neighbours, transport, SECRET) as peers,
    ):
        stub = pb_grpc.AccountServiceStub(service.local if transport == "local" else wire)
        counted = Counted(stub)
        peers.accounts = counted  # type: ignore[assignment] # it has every method
        async with (
            serving(app(complete, peers, studio_folder, extensions), complete) as address,
            browser(f"http://{address}") as client,
        ):
            bench = Bench(client, neighbours, counted, lambda: "")
            await _add_ann(bench)
            yield bench


async def _add_ann(bench: Bench) -> None:
    organization = pb.Organization(slug="uni")
    await bench.operator("PutOrganization", pb.PutOrganizationRequest(organization=organization))
    await bench.user(ANN)
