"""The users with whom LAMB shares assistants: an import shares those that it adds with them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import grpc
from heddle.assistant.v1 import sharing_pb2 as pb
from heddle.assistant.v1.sharing_pb2_grpc import SharingServiceAsyncStub
from heddle_runtime.errors import HeddleError, from_rpc
from heddle_runtime.identity.call_metadata import calling_as, new_call_options, on_behalf_of
from heddle_runtime.identity.callers import ADMIN, Identity

from heddle_migration_service.lamb import users
from heddle_migration_service.lamb.kinds import Draft
from heddle_migration_service.lamb.tables import LambTables

TABLE = "assistant_shares"
_TIMEOUT_SECONDS = 30.0


async def shares(tables: LambTables, ids: Sequence[int]) -> dict[int | None, list[str]]:
    """Return the addresses of the users with whom assistants are shared, by their ids."""
    rows = await tables.matching(TABLE, "assistant_id", ids, ("shared_with_user_id",))
    numbers = {n for row in rows if (n := row.whole("shared_with_user_id")) is not None}
    user_rows = await tables.matching(users.TABLE, "id", numbers, ("user_email",))
    emails = {row.whole("id"): row.text("user_email") or "" for row in user_rows}
    by_assistant: dict[int | None, list[str]] = {}
    for row in rows:
        if email := emails.get(row.whole("shared_with_user_id"), ""):
            by_assistant.setdefault(row.whole("assistant_id"), []).append(email)
    return by_assistant


@dataclass(frozen=True, slots=True)
class Sharing:
    """Shares assistants in the name of their owners."""

    stub: SharingServiceAsyncStub

    async def share(self, draft: Draft, emails: Collection[str], *, is_new: bool) -> list[str]:
        """Share an assistant that is new here. Return what a person has to do.

        One that was here before stays as it is. After an interrupted import, it may have no user.
        """
        owner = Identity(draft.values["owner"], draft.values["organization"], (ADMIN,))
        identifier, options = str(draft.id), new_call_options(_TIMEOUT_SECONDS)
        try:
            with calling_as(on_behalf_of(owner)):
                if is_new:
                    sharing = pb.Sharing(users_who_may_use=emails)
                    change = pb.UpdateSharingRequest(id=identifier, sharing=sharing)
                    await self.stub.UpdateSharing(change, **options)
                    return []
                request = pb.GetSharingRequest(id=identifier)
                there = (await self.stub.GetSharing(request, **options)).sharing
        except grpc.aio.AioRpcError as rpc_error:
            return [_to_do(emails, from_rpc(rpc_error))]
        is_shared = there.users_who_may_use or there.users_who_may_edit
        return [] if is_shared else [_to_do(emails)]


def _to_do(emails: Collection[str], error: HeddleError | None = None) -> str:
    cause = f" {error.message}" if error else ""
    return f"LAMB shares it with {len(emails)}, and Heddle with nobody. Share it.{cause}"
