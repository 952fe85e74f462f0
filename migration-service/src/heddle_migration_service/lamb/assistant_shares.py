"""The users with whom LAMB shares assistants: an import shares those that it adds with them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from heddle.assistant.v1 import sharing_pb2 as pb
from heddle.assistant.v1.sharing_pb2_grpc import SharingServiceAsyncStub
from heddle_runtime.errors import HeddleError

from heddle_migration_service.lamb import users
from heddle_migration_service.lamb.kinds import Draft
from heddle_migration_service.lamb.stored_rows import as_owner
from heddle_migration_service.lamb.tables import LambTables

TABLE = "assistant_shares"


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
        owner, identifier = (draft.values["owner"], draft.values["organization"]), str(draft.id)
        try:
            if is_new:
                sharing = pb.Sharing(users_who_may_use=emails)
                change = pb.UpdateSharingRequest(id=identifier, sharing=sharing)
                await as_owner(*owner, self.stub.UpdateSharing, change)
                return []
            request = pb.GetSharingRequest(id=identifier)
            there = (await as_owner(*owner, self.stub.GetSharing, request)).sharing
        except HeddleError as error:
            return [_to_do(emails, error)]
        is_shared = there.users_who_may_use or there.users_who_may_edit
        return [] if is_shared else [_to_do(emails)]


def _to_do(emails: Collection[str], error: HeddleError | None = None) -> str:
    cause = f" {error.message}" if error else ""
    return f"LAMB shares it with {len(emails)}, and Heddle with nobody. Share it.{cause}"
