"""Shares assistants with single users, and transfers them."""

import time
from collections.abc import Iterable

from heddle.assistant.v1 import sharing_pb2 as pb
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import may_administer
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.owner_organizations import is_user_of
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.assistant_row import Row, Shares
from heddle_assistants.database.schema import assistant_users, organizations, users
from heddle_assistants.field_checks import may_be_user, require
from heddle_assistants.repository.saving import save
from heddle_assistants.repository.writer import Columns, held_row, taken_names, written

MAX_USERS = 200


class SharedAssistants:
    """Changes who may use, edit and own assistants."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    async def share(
        self, identifier: str, identity: Identity, etag: str, sharing: pb.Sharing
    ) -> Row:
        """Replace the users with whom an assistant is shared.

        Raises:
            ConflictError: It changed since it was read.
            InvalidRequestError: An address is not valid, or there are too many.
            NotFoundError: There is none that `identity` may edit.
            PermissionDeniedError: `identity` is not its owner.
        """
        shares = shares_of(sharing)
        async with self._audit.writing() as (connection, changes):
            before = await held_row(connection, identifier, identity, etag, owned=True)
            shares = _without(shares, before.owner)
            columns = {"sharing": shares.text, **_publication(sharing.visibility, before)}
            row = await written(connection, before, columns)
            await write_users(connection, row)
            await save(connection, changes, "share", before, row)
        return row

    async def hand_over(self, identifier: str, identity: Identity, etag: str, owner: str) -> Row:
        """Give an assistant to another user of its organisation, likewise.

        Raises:
            AlreadyExistsError: The user has one of its name.
            InvalidRequestError: The organisation has no such user.
        """
        address = canonical_email(owner)
        async with self._audit.writing() as (connection, changes):
            before = await held_row(connection, identifier, identity, etag, owned=True)
            known = address == before.owner or await is_user_of(
                connection, address, before.organization
            )
            # An installation whose users come from elsewhere has no list of them.
            may_own = not address_fault(address) and (known or may_administer(identity))
            require(may_own, "owner", "is not a user of the assistant's organisation")
            shares = _without(before.shares, address)
            with taken_names():
                columns = {"owner": address, "sharing": shares.text}
                row = await written(connection, before, columns)
            await write_users(connection, row)
            await save(connection, changes, "hand_over", before, row)
        return row

    async def unknown_users(self, row: Row) -> list[str]:
        """Return the users in an assistant's sharing who do not belong to its organisation."""
        addresses = row.shares.users | row.shares.editors
        query = (
            select(users.c.email)
            .join(organizations, organizations.c.id == users.c.organization_id)
            .where(organizations.c.slug == row.organization, users.c.email.in_(addresses))
        )
        async with self._database.reading() as connection:
            known = set(await connection.scalars(query)) if addresses else set()
        return sorted(addresses - known)


def shares_of(sharing: pb.Sharing) -> Shares:
    """Return the users with whom a message shares an assistant.

    Raises:
        InvalidRequestError: An address is not valid, or there are too many.
    """
    violations = []
    for name in ("users_who_may_use", "users_who_may_edit"):
        for index, address in enumerate(getattr(sharing, name)):
            if address_fault(canonical_email(address)):
                violations.append(Violation(f"{name}[{index}]", "is not an e-mail address"))
    users_ = _addresses(sharing.users_who_may_use)
    editors = _addresses(sharing.users_who_may_edit)
    if len(users_ | editors) > MAX_USERS:
        violations.append(Violation("users_who_may_use", f"must be at most {MAX_USERS} users"))
    if sharing.visibility not in pb.Visibility.values():
        violations.append(Violation("visibility", "is not known here"))
    if violations:
        raise InvalidRequestError("The sharing is not valid.", violations)
    return Shares(users_ - editors, editors)


def _addresses(addresses: Iterable[str]) -> frozenset[str]:
    return frozenset(map(canonical_email, addresses))


def address_fault(address: str) -> bool:
    """Return whether a text in canonical form is not the e-mail address of a user."""
    if "@" not in address or not may_be_user(address):
        return True
    return any(each.isspace() or each == "\0" for each in address)


def _without(shares: Shares, address: str) -> Shares:
    return Shares(shares.users - {address}, shares.editors - {address})


def _publication(visibility: int, row: Row) -> Columns:
    if visibility == pb.VISIBILITY_UNSPECIFIED:
        return {}
    published = visibility == pb.VISIBILITY_ORGANIZATION
    at = (row.published_at or int(time.time())) if published else None
    return {"published": published, "published_at": at}


async def write_users(connection: AsyncConnection, row: Row) -> None:
    """Write the rows of `assistant_users` that the column `sharing` of a row repeats."""
    mine = assistant_users.c.assistant_id == row.id
    await connection.execute(delete(assistant_users).where(mine))
    members = [(each, False) for each in row.shares.users]
    members += [(each, True) for each in row.shares.editors]
    values = [
        {"assistant_id": row.id, "email": email, "may_edit": may_edit}
        for email, may_edit in members
    ]
    if values:
        await connection.execute(insert(assistant_users), values)
