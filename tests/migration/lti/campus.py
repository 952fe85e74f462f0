"""A gateway with the services behind it, beside a LAMB with links."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import grpc
import httpx
from assistants.both_services import both_services
from gateway.conftest import KEY
from gateway.extensions import without_lamb
from gateway.neighbours import Neighbours, serving_neighbours
from heddle.assistant.v1.jobs_pb2 import JOB_KIND_IMPORT
from heddle.migration.v1 import migration_pb2, migration_pb2_grpc
from heddle_assistants.app import AssistantsSettings
from heddle_gateway.app import GatewaySettings, app
from heddle_gateway.http.server import serving
from heddle_gateway.services import SERVICES, ServiceClients
from heddle_runtime.identity.call_metadata import Caller, calling_as, new_call_options
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import running
from integration.browser import browser
from migration.lti.platform import lamb_with_links, signed
from new_databases import database_in

SECRET = "s" * 32
ADMIN = Caller("", Identity("root", scopes=("admin",)))


@dataclass
class Campus:
    """The gateway, and what a browser of it does."""

    url: str
    operator: httpx.AsyncClient
    browser: httpx.AsyncClient
    migration: grpc.aio.Channel

    async def imported(self, *, dry_run: bool = False) -> dict[str, migration_pb2.Progress]:
        """Import LAMB, and return the progress by table."""
        stub = migration_pb2_grpc.MigrationServiceStub(self.migration)
        request = migration_pb2.RunMigrationRequest(kind=JOB_KIND_IMPORT, dry_run=dry_run)
        with calling_as(ADMIN):
            steps = [each async for each in stub.RunMigration(request, **new_call_options(60))]
        return {each.table: each.progress for each in steps if each.table}

    async def launch(
        self, path: str, key: str, secret: str, form: dict[str, str], **headers: str
    ) -> "Arrival":
        """Launch a link in a browser of its own."""
        return await self.post(path, signed(f"{self.url}{path}", key, secret, form), **headers)

    async def post(self, path: str, form: str | dict[str, str], **headers: str) -> "Arrival":
        """Send a form in a browser of its own."""
        body = form if isinstance(form, str) else urlencode(form)
        sent = {"content-type": "application/x-www-form-urlencoded"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        response = await self.browser.post(path, content=body, headers=sent)
        self.browser.cookies.clear()  # the next one is another person
        return Arrival(self.browser, response)


@dataclass
class Arrival:
    """A browser after a launch."""

    client: httpx.AsyncClient
    response: httpx.Response

    @property
    def cookie(self) -> str:
        """What sets the cookie."""
        return str(self.response.headers.get("set-cookie", ""))

    async def get(self, path: str) -> Any:
        """Return the JSON of a path for the session of this browser."""
        pair = self.cookie.partition(";")[0]
        response = await self.client.get(path, headers={"cookie": pair})
        assert response.status_code == 200, response.text
        return response.json()


@asynccontextmanager
async def campus(folder: Path, **settings: Any) -> AsyncGenerator[Campus]:
    """Yield a gateway beside a LAMB in `folder`."""
    lamb = lamb_with_links(folder / "lamb_v4.db")
    quick = {"HEDDLE_IDENTITY_SECRET": SECRET, "drain_wait": 0.0, "shutdown_grace": 0.2}
    of_gateway, extensions = without_lamb({"lamb_lti_secret": "secret-of-assistants", **settings})
    own = GatewaySettings.model_validate(
        {**quick, "listen": "127.0.0.1:0", "api_key": KEY, **of_gateway}
    )
    stored = AssistantsSettings.model_validate(
        {**quick, "listen": "127.0.0.1:0", "database": database_in(folder)}
        | {"assistants_dir": folder / "none"}
    )
    async with AsyncExitStack() as exits:
        real = await exits.enter_async_context(running(both_services(stored, lamb.path), stored))
        contracts = (*SERVICES["assistants"], *SERVICES["migration"])
        opened = channel(real.address, *contracts, secret=stored.identity_secret)
        to_real = await exits.enter_async_context(opened)
        others = await exits.enter_async_context(serving_neighbours(Neighbours(), "local", SECRET))
        peers = ServiceClients(**{**others.channels, "assistants": to_real, "migration": to_real})
        gateway = app(own, peers, extensions=extensions)
        url = f"http://{await exits.enter_async_context(serving(gateway, own))}"
        operator = await exits.enter_async_context(browser(url, KEY))
        people = await exits.enter_async_context(browser(url))
        yield Campus(url, operator, people, to_real)
