"""An account service with settings that the test writes, over real gRPC or in this process."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION, Identity
from heddle_runtime.serving.server import Binding, Running, bind, running
from heddle_runtime.settings.service import ServiceSettings

CONTRACT = pb.DESCRIPTOR.services_by_name["AccountService"]
SECRET = "a-secret-of-at-least-32-characters"


@dataclass
class Accounts(pb_grpc.AccountServiceServicer):
    """Knows settings by organisation, and the organisations of owners."""

    settings: dict[str, pb.ResolveSettingsResponse] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    """Of owners."""
    withheld: list[pb.WithheldCollection] = field(default_factory=list)
    """From everybody."""
    stores: list[pb.RegisteredStore] = field(default_factory=list)
    """Their organisations alone may search them."""
    failure: HeddleError | None = None
    asked: list[str] = field(default_factory=list)
    asked_collections: list[pb.ResolveCollectionsRequest] = field(default_factory=list)
    callers: list[Identity] = field(default_factory=list)

    def add(self, slug: str, **settings: object) -> None:
        """Set an organisation up."""
        made = pb.ResolveSettingsResponse(organization=slug, **settings)  # type: ignore[arg-type] # each test its own
        self.settings[slug] = made

    async def ResolveSettings(
        self, request: pb.ResolveSettingsRequest, context: Context
    ) -> pb.ResolveSettingsResponse:
        self.asked.append(request.owner or request.organization)
        self.callers.append(caller().identity)
        if self.failure is not None:
            raise self.failure
        slug = request.organization or self.owners.get(request.owner, "")
        if request.owner and self.owners.get(request.owner) != slug:
            slug = ""  # the owner is a user of another one
        response = pb.ResolveSettingsResponse()
        response.CopyFrom(self.settings.get(slug, response))
        if slug == DEFAULT_ORGANIZATION and slug not in self.settings:
            response.system = True  # as of an installation without organisations
        if slug and (number := self.numbers.get(request.owner)) is not None:
            response.user_id = number
        return response

    async def ResolveCollections(
        self, request: pb.ResolveCollectionsRequest, context: Context
    ) -> pb.ResolveCollectionsResponse:
        self.asked_collections.append(request)
        if self.failure is not None:
            raise self.failure
        found = [each for each in self.withheld if each.id in request.ids]
        home = request.organization or self.owners.get(request.owner, "")
        stores = [
            each if each.organization == home else pb.RegisteredStore(id=each.id, withheld=True)
            for each in self.stores
            if each.id in request.ids
        ]
        return pb.ResolveCollectionsResponse(withheld=found, stores=stores)


@asynccontextmanager
async def serving_accounts(accounts: Accounts) -> AsyncGenerator[Running]:
    """Serve `accounts` to callers who know the secret."""

    @asynccontextmanager
    async def app() -> AsyncGenerator[Sequence[Binding]]:
        yield [bind(pb_grpc.add_AccountServiceServicer_to_server, accounts)]

    settings = ServiceSettings.model_validate(
        {"HEDDLE_IDENTITY_SECRET": SECRET, "drain_wait": 0.0, "shutdown_grace": 0.2}
    )
    async with running(app(), settings) as service:
        yield service
