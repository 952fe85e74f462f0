"""What the organisation of an assistant's owner has set up, for a service that acts for it."""

from typing import TYPE_CHECKING

import grpc
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc

from heddle_runtime.acting import Acting
from heddle_runtime.identity import DEFAULT_ORGANIZATION
from heddle_runtime.local import LocalChannel
from heddle_runtime.remembered import Remembered

if TYPE_CHECKING:  # a class of the stubs alone
    from heddle.account.v1.account_pb2_grpc import AccountServiceAsyncStub

ACCOUNTS = pb.DESCRIPTOR.services_by_name["AccountService"]
REMEMBERED = 5.0
"""Seconds that changed settings may take to count."""
Channel = grpc.aio.Channel | LocalChannel
_OPERATORS = pb.ResolveSettingsResponse(system=True)


class OwnerSettings:
    """Asks the account service, in the service's own name."""

    def __init__(self, accounts: Channel, acting: Acting) -> None:
        self._accounts: AccountServiceAsyncStub = pb_grpc.AccountServiceStub(accounts)  # type: ignore[arg-type] # a local channel stands for a real one
        self._acting = acting
        self._known: Remembered[bytes, pb.ResolveSettingsResponse] = Remembered(REMEMBERED)

    async def of(self, organization: str, owner: str) -> pb.ResolveSettingsResponse:
        """Return the settings that an assistant works with; not to be changed.

        The organisation counts, and the owner only without one: two organisations may have a user
        of one name. What belongs to nobody that the account service knows is the operator's.

        Raises:
            HeddleError: They cannot be had.
        """
        if organization:
            return await self._settings(organization=organization)
        if not owner:
            return _OPERATORS
        found = await self._settings(owner=owner)
        return found if found.organization else await self._of_the_operator()

    async def number(self, organization: str, owner: str) -> int | None:
        """Return the number by which LAMB's data call an assistant's owner, if there is one.

        A user of that name in another organisation is somebody else.

        Raises:
            HeddleError: It cannot be had.
        """
        if not owner:
            return None
        found = await self._settings(owner=owner)
        at_home = organization in ("", found.organization)
        return found.user_id if at_home and found.HasField("user_id") else None

    async def _of_the_operator(self) -> pb.ResolveSettingsResponse:
        found = await self._settings(organization=DEFAULT_ORGANIZATION)
        return found if found.organization else _OPERATORS

    async def _settings(self, **whose: str) -> pb.ResolveSettingsResponse:
        request = pb.ResolveSettingsRequest(**whose)
        return await self._known.get(
            request.SerializeToString(),
            lambda: self._acting.ask(self._accounts.ResolveSettings, request),
        )
