"""The account service over real gRPC, on both databases."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle_assistants.accounts.bootstrap import (
    AccountSettings,
    account_service,
    encryption_keys,
)
from heddle_assistants.audit.log import open_audit_log
from heddle_assistants.database.schema import SCHEMA
from heddle_assistants.other_services import OtherServices
from heddle_runtime.errors import from_rpc
from heddle_runtime.identity.call_metadata import AUTHORIZATION
from heddle_runtime.identity.callers import Identity, TokenSigner
from heddle_runtime.serving.server import Binding, running
from heddle_runtime.storage.database.engine import Database, open_database
from heddle_runtime.storage.database.upgrading import upgrade

SECRET = "a-secret-of-at-least-32-characters"
CONTRACT = pb.DESCRIPTOR.services_by_name["AccountService"]
PEPPER = "pepper-of-at-least-32-characters!"
ENCRYPTION = "encryption-key-of-at-least-32-chars"
SERVICE = Identity("heddle-test", scopes=("service",))
ADMIN = Identity("operator", scopes=("admin",))
UNI_ADMIN = Identity("head@uni.example", "uni", ("organization_admin",))
ANN = Identity("ann@uni.example", "uni", ("creator",))
BEN = Identity("ben@uni.example", "uni", ("creator",))
EVE = Identity("eve@evil.example", "evil", ("creator",))
EVIL_ADMIN = Identity("boss@evil.example", "evil", ("organization_admin",))
STRANGER = Identity("stranger")


@dataclass
class Accounts:
    """The service, and everybody who may call it."""

    channel: grpc.aio.Channel
    signer: TokenSigner

    async def call(self, method: str, request: Any, identity: Identity = ADMIN) -> Any:
        """Call in the name of `identity`; a failure is a `HeddleError`."""
        stub = pb_grpc.AccountServiceStub(self.channel)
        token = self.signer.token(identity, CONTRACT.full_name)
        metadata = ((AUTHORIZATION, f"Bearer {token}"),)
        try:
            return await getattr(stub, method)(request, timeout=20, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from None

    async def key(self, identity: Identity = ADMIN, **key: Any) -> pb.CreateKeyResponse:
        """Make a key; of the organisation `uni` unless `key` says otherwise."""
        requested = pb.Key(**{"name": "test", "organization": "uni", **key})
        response = await self.call("CreateKey", pb.CreateKeyRequest(key=requested), identity)
        assert isinstance(response, pb.CreateKeyResponse)
        return response

    async def whose(self, key: str) -> Any:
        """Return whom a key stands for."""
        return await self.call("ResolveKey", pb.ResolveKeyRequest(key=key), SERVICE)

    async def organization(self, slug: str) -> pb.GetOrganizationResponse:
        """Return an organisation as the operator sees it."""
        response = await self.call("GetOrganization", pb.GetOrganizationRequest(slug=slug))
        assert isinstance(response, pb.GetOrganizationResponse)
        return response

    async def put(
        self,
        slug: str,
        settings: str = "",
        etag: str = "",
        identity: Identity = ADMIN,
        *,
        only_new: bool = False,
    ) -> Any:
        """Make or change an organisation."""
        organization = pb.Organization(slug=slug, settings_json=settings)
        request = pb.PutOrganizationRequest(organization=organization, etag=etag, only_new=only_new)
        return await self.call("PutOrganization", request, identity)

    async def replace(self, slug: str, settings: str, identity: Identity = ADMIN) -> Any:
        """Change an organisation, whatever it was."""
        return await self.put(slug, settings, identity=identity)

    async def settings(self, **whose: Any) -> pb.ResolveSettingsResponse:
        """Return what an owner's organisation, or an organisation, has set up."""
        request = pb.ResolveSettingsRequest(**whose)
        response = await self.call("ResolveSettings", request, SERVICE)
        assert isinstance(response, pb.ResolveSettingsResponse)
        return response

    async def user(self, email: str, organization: str, **more: Any) -> None:
        """Make or change a user."""
        request = pb.PutUserRequest(email=email, organization=organization, **more)
        await self.call("PutUser", request)


@asynccontextmanager
async def serving(
    url: str, services: OtherServices | None = None, /, **settings: Any
) -> AsyncGenerator[Accounts]:
    """Serve the accounts of the database at `url`."""
    values = {"key_pepper": PEPPER, "encryption_key": ENCRYPTION, **settings}
    complete = AccountSettings.model_validate(
        {
            "HEDDLE_IDENTITY_SECRET": SECRET,
            "drain_wait": 0.0,
            **{name: value for name, value in values.items() if value is not None},
        }
    )

    @asynccontextmanager
    async def app() -> AsyncGenerator[Sequence[Binding]]:
        async with open_database(url) as database:
            await upgrade(database, SCHEMA)
            audit = await open_audit_log(
                database, encryption_keys(url, complete), refuse=not complete.secrets_lost
            )
            yield [await account_service(database, audit, url, complete, services)]

    async with (
        running(app(), complete) as service,
        grpc.aio.insecure_channel(service.address) as channel,
    ):
        yield Accounts(channel, TokenSigner(SECRET))


@pytest.fixture(scope="session")
def populated_sqlite(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with three organisations and their people, to be copied."""
    path = tmp_path_factory.mktemp("populated") / "heddle.db"
    shutil.copyfile(sqlite_template, path)
    asyncio.run(_populate_database(f"sqlite:///{path}"))
    return path


@pytest.fixture
def populated_url(dialect: str, database_url: str, request: pytest.FixtureRequest) -> str:
    """The URL of a database with three organisations and their people."""
    if dialect == "sqlite":
        template = request.getfixturevalue("populated_sqlite")
        shutil.copyfile(template, database_url.removeprefix("sqlite:///"))
    else:
        asyncio.run(_populate_database(database_url))
    return database_url


@pytest.fixture
async def accounts(populated_url: str) -> AsyncIterator[Accounts]:
    """A service with three organisations and their people."""
    async with serving(populated_url) as running_accounts:
        yield running_accounts


@pytest.fixture
async def rows(accounts: Accounts, database_url: str) -> AsyncIterator[Database]:
    """The database behind `accounts`."""
    assert accounts is not None  # it has made the tables
    async with open_database(database_url) as database:
        yield database


async def _populate_database(url: str) -> None:
    async with serving(url) as accounts:
        await populate(accounts)


async def populate(accounts: Accounts) -> None:
    """Make the organisations `uni` and `evil` beside `default`, and who is in them."""
    for slug in ("uni", "evil"):
        await accounts.put(slug)
    for identity in (ANN, BEN, EVE):
        await accounts.user(identity.subject, identity.organization)
    for identity in (UNI_ADMIN, EVIL_ADMIN):
        await accounts.user(identity.subject, identity.organization, role="admin")
