"""What the organisation of an assistant's owner has set up, for a service that acts for it."""

from typing import TYPE_CHECKING

import grpc
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc

from heddle_runtime.identity import DEFAULT_ORGANIZATION
from heddle_runtime.in_process import InProcessChannel
from heddle_runtime.service_credentials import ServiceCredentials
from heddle_runtime.ttl_cache import TTLCache

if TYPE_CHECKING:  # a class of the stubs alone
    from heddle.account.v1.account_pb2_grpc import AccountServiceAsyncStub

ACCOUNTS = pb.DESCRIPTOR.services_by_name["AccountService"]
REMEMBERED = 5.0
"""Seconds that changed settings may take to count."""
Channel = grpc.aio.Channel | InProcessChannel
_OPERATORS = pb.ResolveSettingsResponse(system=True)


def account_stub(accounts: Channel) -> "AccountServiceAsyncStub":
    """Return the account service at the end of a channel."""
    return pb_grpc.AccountServiceStub(accounts)  # type: ignore[arg-type] # a local channel stands for a real one


class OrganizationSettings:
    """Asks the account service, in the service's own name."""

    def __init__(
        self,
        accounts: "AccountServiceAsyncStub",
        acting: ServiceCredentials,
        *,
        remembered: float = REMEMBERED,
        without_servers: bool = False,
    ) -> None:
        """Take the way to the account service and the identity to ask with.

        Args:
            accounts: The account service.
            acting: In whose name it is asked.
            remembered: Seconds that changed settings may take to count.
            without_servers: Do not ask where servers are and what opens them.
        """
        self._accounts = accounts
        self._acting = acting
        self._without_servers = without_servers
        self._known: TTLCache[bytes, pb.ResolveSettingsResponse] = TTLCache(remembered)

    async def of(self, organization: str, owner: str) -> pb.ResolveSettingsResponse:
        """Return the settings that an assistant works with; not to be changed.

        The organisation counts, and the owner only without one: two organisations may have a user
        of one name. What belongs to nobody that the account service knows is the operator's.

        Raises:
            HeddleError: They cannot be had.
        """
        if organization:
            return await self._settings(pb.ResolveSettingsRequest(organization=organization))
        if not owner:
            return _OPERATORS
        settings = await self._settings(pb.ResolveSettingsRequest(owner=owner))
        return settings if settings.organization else await self._of_the_operator()

    async def number(self, organization: str, owner: str) -> int | None:
        """Return the number by which LAMB's data call an assistant's owner, if there is one.

        A user of that name in another organisation is somebody else.

        Raises:
            HeddleError: It cannot be had.
        """
        if not owner:
            return None
        settings = await self._settings(pb.ResolveSettingsRequest(owner=owner))
        at_home = organization in ("", settings.organization)
        return settings.user_id if at_home and settings.HasField("user_id") else None

    async def _of_the_operator(self) -> pb.ResolveSettingsResponse:
        request = pb.ResolveSettingsRequest(organization=DEFAULT_ORGANIZATION)
        settings = await self._settings(request)
        return settings if settings.organization else _OPERATORS

    async def _settings(self, request: pb.ResolveSettingsRequest) -> pb.ResolveSettingsResponse:
        request.without_servers = self._without_servers
        return await self._known.get(
            request.SerializeToString(),
            lambda: self._acting.call(self._accounts.ResolveSettings, request),
        )
