"""The members of groups: added by their addresses, or by a code."""

import secrets
import time
from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp
from heddle.group.v1 import group_pb2 as pb
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.contract.paging import page_size, read_token, write_token
from heddle_runtime.errors import (
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
)
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import delete, func, insert, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.schema import group_members, learner_groups, organizations
from heddle_assistants.field_checks import require
from heddle_assistants.groups.rows import (
    GROUPS,
    AnyRow,
    change_of,
    code_message,
    locked_group,
    managed,
    messages,
    read_group,
    visible,
)
from heddle_assistants.groups.store import address_violations

MAX_MEMBERS = 5_000
MAX_ADDED = 1_000
_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""Letters and digits that people do not confuse."""
_CODE_CHARACTERS = 12
_DAY = 86_400
_DEFAULT_DAYS, _MAX_DAYS = 30, 366
_DEFAULT_USES, MAX_USES = 200, MAX_MEMBERS
_G, _M = learner_groups.c, group_members.c


class Members:
    """Adds, lists and removes members, and makes codes."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    async def page(
        self, request: pb.ListMembersRequest, identity: Identity
    ) -> tuple[list[pb.Member], str]:
        """Return a page of the members of a group, and the next token."""
        size = page_size(request.page_size)
        after = read_token(request.page_token) if request.page_token else ""
        async with self._database.reading() as connection:
            await read_group(connection, request.id, managed(identity))
            query = select(_M.email, _M.joined_at).where(
                _M.group_id == request.id, ~_M.is_teacher, _M.email > after
            )
            rows = (await connection.execute(query.order_by(_M.email).limit(size + 1))).all()
        shown = [
            pb.Member(email=row.email, join_time=Timestamp(seconds=row.joined_at))
            for row in rows[:size]
        ]
        return shown, write_token(shown[-1].email) if len(rows) > size else ""

    async def add(self, group: str, emails: Sequence[str], identity: Identity) -> list[str]:
        """Add members to a group; return those who were not in it.

        Raises:
            InvalidRequestError: An address is not valid, or there are too many.
            NotFoundError: There is no group that the caller manages.
            ResourceExhaustedError: The group has as many members as are allowed.
        """
        check_emails(emails)
        async with self._audit.writing() as (connection, changes):
            row = await locked_group(connection, group, identity)
            added = await _added(connection, row, {canonical_email(each) for each in emails})
            if added:
                changes.append(change_of("add_members", row, members=" ".join(added)))
            return added

    async def remove(self, group: str, email: str, identity: Identity) -> None:
        """Remove a member if it is one; those who manage the group any, and members themselves.

        Raises:
            NotFoundError: There is no group from which the caller may remove it.
        """
        address = canonical_email(email)
        itself = address == identity.subject
        async with self._audit.writing() as (connection, changes):
            which = visible(identity) if itself else managed(identity)
            row = await read_group(connection, group, which, lock=True)
            one = (_M.group_id == row.id) & (_M.email == address.replace("\0", "")) & ~_M.is_teacher
            if (await connection.execute(delete(group_members).where(one))).rowcount:
                changes.append(change_of("remove_member", row, member=address))

    async def make_code(
        self, request: pb.CreateJoiningCodeRequest, identity: Identity
    ) -> pb.JoiningCode:
        """Replace the joining code of a group."""
        end, uses = bounds_of_code(request, int(time.time()))
        code = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_CHARACTERS))
        await self._set_code(request.id, identity, "make_code", code, end, uses)
        return code_message(code, end, uses)

    async def delete_code(self, group: str, identity: Identity) -> None:
        """Delete the joining code of a group."""
        await self._set_code(group, identity, "delete_code", None, None, 0)

    async def _set_code(
        self,
        group: str,
        identity: Identity,
        action: str,
        code: str | None,
        end: int | None,
        uses: int,
    ) -> None:
        async with self._audit.writing() as (connection, changes):
            row = await locked_group(connection, group, identity)
            query = update(learner_groups).where(_G.id == row.id)
            await connection.execute(query.values(code=code, code_expires_at=end, code_uses=uses))
            changes.append(change_of(action, row, expires_at=end, uses=uses))

    async def join(self, text: str, identity: Identity) -> pb.Group:
        """Make the caller a member of the group of a code.

        Raises:
            NotFoundError: The code is not valid, has ended or is used up.
            PermissionDeniedError: The caller has no e-mail address.
            ResourceExhaustedError: The group has as many members as are allowed.
        """
        if identity.client_user or "@" not in identity.subject:
            raise PermissionDeniedError("Only users with an e-mail address join groups.")
        code = "".join(filter(str.isalnum, text)).upper()
        async with self._audit.writing() as (connection, changes):
            query = GROUPS.where(_G.code == code, organizations.c.slug == home(identity))
            locked = query.with_for_update(of=learner_groups)
            row = (await connection.execute(locked)).one_or_none()
            is_known = row is not None and await _is_in(connection, row, identity)
            if row is None or not (is_known or _is_valid(row)):
                raise NotFoundError(
                    "This code is not valid, has ended or is used up. Ask your teacher for a new "
                    "one."
                )
            if not is_known:
                await _added(connection, row, {identity.subject})
                used = update(learner_groups).where(_G.id == row.id)
                await connection.execute(used.values(code_uses=_G.code_uses - 1))
                changes.append(change_of("join", row, member=identity.subject))
            [group] = await messages(connection, [row], identity)
            return group


async def _added(connection: AsyncConnection, row: AnyRow, emails: set[str]) -> list[str]:
    here = select(_M.email).where(_M.group_id == row.id)
    new = sorted(emails - {*await connection.scalars(here.where(_M.email.in_(emails)))})
    count = await connection.scalar(select(func.count()).where(_M.group_id == row.id)) or 0
    check_count(count + len(new))
    now = int(time.time())
    values = [{"group_id": row.id, "email": each, "joined_at": now} for each in new]
    if values:
        await connection.execute(insert(group_members), values)
    return new


def check_emails(emails: Sequence[str]) -> None:
    """Refuse addresses of new members.

    Raises:
        InvalidRequestError: One is not valid, or there are too many.
    """
    require(1 <= len(emails) <= MAX_ADDED, "emails", f"must be 1 to {MAX_ADDED:,}")
    if violations := address_violations(emails, "emails"):
        raise InvalidRequestError("The addresses are not valid.", violations)


def bounds_of_code(request: pb.CreateJoiningCodeRequest, now: int) -> tuple[int, int]:
    """Return when a new code ends, in seconds since 1970, and how many users can join with it.

    Raises:
        InvalidRequestError: Either is not valid.
    """
    end = request.expire_time.seconds or now + _DEFAULT_DAYS * _DAY
    what = f"must be in the future, at most {_MAX_DAYS} days from now"
    require(now < end <= now + _MAX_DAYS * _DAY, "expire_time", what)
    uses = request.uses or _DEFAULT_USES
    require(1 <= uses <= MAX_USES, "uses", f"must be 1 to {MAX_USES:,}")
    return end, uses


def check_count(members: int) -> None:
    """Refuse more members than a group may have.

    Raises:
        ResourceExhaustedError: There are more.
    """
    if members > MAX_MEMBERS:
        raise ResourceExhaustedError(f"A group has at most {MAX_MEMBERS:,} members.")


async def _is_in(connection: AsyncConnection, row: AnyRow, identity: Identity) -> bool:
    query = select(true()).where(_M.group_id == row.id, _M.email == identity.subject)
    return await connection.scalar(query) is not None


def _is_valid(row: AnyRow) -> bool:
    return bool(row.code_uses > 0 and row.code_expires_at > time.time())
