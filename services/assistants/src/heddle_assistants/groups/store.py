"""Makes, reads, changes and deletes groups."""

import secrets
import time
from collections.abc import Sequence

from heddle.group.v1 import group_pb2 as pb
from heddle_conversion.identifiers import row_id
from heddle_runtime.contract.audit import Change
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.contract.paging import page_size, read_token, write_token
from heddle_runtime.errors import (
    ConflictError,
    InvalidRequestError,
    PermissionDeniedError,
    Violation,
)
from heddle_runtime.identity.callers import OPERATORS, Identity, home
from heddle_runtime.identity.permissions import may_change, may_own
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.owner_organizations import organization_id
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.assistant_row import LIVING, ROWS, Row
from heddle_assistants.database.schema import (
    assistants,
    group_assistants,
    group_members,
    learner_groups,
)
from heddle_assistants.field_checks import nul_violations, require
from heddle_assistants.groups.rows import (
    GROUPS,
    AnyRow,
    etag_of,
    locked_group,
    messages,
    read_group,
    visible,
)
from heddle_assistants.sharing.store import address_fault

MAX_TITLE = 200
MAX_TEACHERS = 20
MAX_ASSISTANTS = 100
_G, _M = learner_groups.c, group_members.c


class Groups:
    """Reads and writes groups."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    async def create(self, group: pb.Group, identity: Identity) -> tuple[pb.Group, str]:
        """Store a new group; return it and its etag.

        Raises:
            InvalidRequestError: It is not valid.
            PermissionDeniedError: The caller is not a user.
        """
        if not may_own(identity):
            raise PermissionDeniedError("The key of an organisation teaches no group. Use yours.")
        if not group.teachers and identity.subject not in OPERATORS:
            group.teachers.append(identity.subject)
        check(group, identity)
        identifier = f"group_{secrets.token_hex(12)}"
        async with self._audit.writing() as (connection, changes):
            values = {
                "id": identifier,
                "organization_id": await organization_id(connection, home(identity)),
                "title": group.title.strip(),
                "claim": group.claim.strip(),
                "created_at": int(time.time()),
            }
            await connection.execute(insert(learner_groups).values(**values))
            row = (await connection.execute(GROUPS.where(_G.id == identifier))).one()
            await _write_teachers(connection, row, group.teachers)
            await _write_assistants(connection, row, group.assistants, identity)
            [created] = await messages(connection, [row], identity)
            changes.append(_change("create", row, None, created))
            return created, etag_of(row)

    async def get(self, identifier: str, identity: Identity) -> tuple[pb.Group, str]:
        """Return a group that a caller manages or is in, and its etag."""
        async with self._database.reading() as connection:
            row = await read_group(connection, identifier, visible(identity))
            [group] = await messages(connection, [row], identity)
            return group, etag_of(row)

    async def page(
        self, request: pb.ListGroupsRequest, identity: Identity
    ) -> tuple[list[pb.Group], str]:
        """Return a page of the groups that a caller manages or is in, and the next token."""
        size = page_size(request.page_size)
        after = read_token(request.page_token) if request.page_token else ""
        query = GROUPS.where(visible(identity), _G.id > after).order_by(_G.id).limit(size + 1)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
            groups = await messages(connection, rows[:size], identity)
        return groups, write_token(rows[size - 1].id) if len(rows) > size else ""

    async def update(self, group: pb.Group, etag: str, identity: Identity) -> tuple[pb.Group, str]:
        """Replace a group; return it and its etag.

        Raises:
            ConflictError: It changed since it was read.
            InvalidRequestError: It is not valid.
            NotFoundError: There is none that the caller manages.
        """
        async with self._audit.writing() as (connection, changes):
            row = await locked_group(connection, group.id, identity)
            if etag not in ("", etag_of(row)):
                message = f"The group {group.id!r} changed since it was read. Read it again."
                raise ConflictError(message, group=group.id)
            check(group, identity)
            [before] = await messages(connection, [row], identity)
            await _write_teachers(connection, row, group.teachers)
            await _write_assistants(connection, row, group.assistants, identity)
            query = update(learner_groups).where(_G.id == group.id)
            await connection.execute(
                query.values(
                    title=group.title.strip(),
                    claim=group.claim.strip(),
                    revision=row.revision + 1,
                )
            )
            row = (await connection.execute(GROUPS.where(_G.id == group.id))).one()
            [after] = await messages(connection, [row], identity)
            changes.append(_change("update", row, before, after))
            return after, etag_of(row)

    async def delete(self, identifier: str, identity: Identity) -> None:
        """Delete a group that a caller manages."""
        async with self._audit.writing() as (connection, changes):
            row = await locked_group(connection, identifier, identity)
            [before] = await messages(connection, [row], identity)
            for table in (group_assistants, group_members):  # not every connection does it itself
                await connection.execute(delete(table).where(table.c.group_id == identifier))
            await connection.execute(delete(learner_groups).where(_G.id == identifier))
            changes.append(_change("delete", row, before, None))


def check(group: pb.Group, identity: Identity) -> None:
    """Refuse a group whose members are not valid.

    Raises:
        InvalidRequestError: They are not.
    """
    violations = nul_violations({"title": group.title, "claim": group.claim}, "group.")
    for name in ("title", "claim"):
        if len(getattr(group, name)) > MAX_TITLE:
            what = f"must have at most {MAX_TITLE} characters"
            violations.append(Violation(f"group.{name}", what))
    if not group.title.strip():
        violations.append(Violation("group.title", "is required"))
    least = 0 if identity.subject in OPERATORS else 1  # the operator has no address
    if not least <= len(group.teachers) <= MAX_TEACHERS:
        violations.append(Violation("group.teachers", f"must be {least} to {MAX_TEACHERS} users"))
    if len(group.assistants) > MAX_ASSISTANTS:
        violations.append(Violation("group.assistants", f"must be at most {MAX_ASSISTANTS}"))
    violations += address_violations(group.teachers, "group.teachers")
    if violations:
        raise InvalidRequestError("The group is not valid.", violations)


def address_violations(addresses: Sequence[str], field: str) -> list[Violation]:
    """Return the faults of e-mail addresses."""
    return [
        Violation(f"{field}[{index}]", "is not an e-mail address")
        for index, address in enumerate(addresses)
        if address_fault(canonical_email(address))
    ]


async def _write_teachers(
    connection: AsyncConnection, row: AnyRow, teachers: Sequence[str]
) -> None:
    """Let these be the teachers. Who is no longer one is no longer in the group."""
    known = {canonical_email(each) for each in teachers}
    changed = _M.email.not_in(known) == _M.is_teacher
    await connection.execute(delete(group_members).where(_M.group_id == row.id, changed))
    query = select(_M.email).where(_M.group_id == row.id, _M.is_teacher)
    new = known - {*await connection.scalars(query)}
    now = int(time.time())
    values = [
        {"group_id": row.id, "email": each, "is_teacher": True, "joined_at": now}
        for each in sorted(new)
    ]
    if values:
        await connection.execute(insert(group_members), values)


async def _write_assistants(
    connection: AsyncConnection, row: AnyRow, references: Sequence[str], identity: Identity
) -> None:
    """Publish these assistants to a group, and no others.

    Raises:
        InvalidRequestError: The caller may not share one that is added.
    """
    there = group_assistants.c.group_id == row.id
    known = {*await connection.scalars(select(group_assistants.c.assistant_id).where(there))}
    numbers = {row_id(each) or 0: index for index, each in enumerate(references)}
    added = numbers.keys() - known
    query = ROWS.where(assistants.c.id.in_(added), LIVING)
    rows = [Row._make(each) for each in await connection.execute(query)]
    shareable = {
        each.id for each in rows if each.organization == row.slug and may_change(identity, each)
    }
    for number in sorted(added - shareable):
        what = "is not an assistant of the group's organisation that you may share"
        require(is_fulfilled=False, field=f"group.assistants[{numbers[number]}]", problem=what)
    gone = known - numbers.keys()
    if gone:
        of_gone = group_assistants.c.assistant_id.in_(gone)
        await connection.execute(delete(group_assistants).where(there, of_gone))
    if added:
        values = [{"group_id": row.id, "assistant_id": each} for each in sorted(added)]
        await connection.execute(insert(group_assistants), values)


def _change(action: str, row: AnyRow, before: pb.Group | None, after: pb.Group | None) -> Change:
    return Change(f"group.{action}", row.id, row.slug, _members(before), _members(after))


def _members(group: pb.Group | None) -> dict[str, object] | None:
    if group is None:
        return None
    return {
        "title": group.title,
        "claim": group.claim,
        "teachers": list(group.teachers),
        "assistants": list(group.assistants),
    }
