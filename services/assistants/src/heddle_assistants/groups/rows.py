"""The rows of groups, and who may see and manage them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from heddle.group.v1 import group_pb2 as pb
from heddle_runtime.contract.audit import Change
from heddle_runtime.errors import NotFoundError
from heddle_runtime.identity.callers import ORGANIZATION_ADMIN, Identity, home
from heddle_runtime.identity.permissions import may_administer
from sqlalchemy import ColumnElement, Row, and_, false, func, or_, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.database.assistant_row import LIVING
from heddle_assistants.database.schema import (
    assistants,
    group_assistants,
    group_members,
    learner_groups,
    organizations,
)

_G, _M = learner_groups.c, group_members.c
GROUPS = select(learner_groups, organizations.c.slug).join(
    organizations, organizations.c.id == _G.organization_id
)
AnyRow = Row[*tuple[Any, ...]]


def no_group(identifier: str) -> NotFoundError:
    """Return the error about a group that does not exist, or not for the caller."""
    return NotFoundError(f"No group has the id {identifier[:100]!r}.", group=identifier[:100])


def managed(identity: Identity) -> ColumnElement[bool]:
    """Return the condition of the groups that a caller manages."""
    if may_administer(identity):
        return true()
    if ORGANIZATION_ADMIN in identity.scopes:
        return organizations.c.slug == home(identity)
    return _in(identity, _M.is_teacher)


def visible(identity: Identity) -> ColumnElement[bool]:
    """Return the condition of the groups that a caller manages or is in."""
    return or_(managed(identity), _in(identity))


def _in(identity: Identity, *also: ColumnElement[bool]) -> ColumnElement[bool]:
    if "\0" in identity.subject:  # which PostgreSQL does not compare
        return false()
    mine = select(_M.group_id).where(_M.email == identity.subject, *also)
    return and_(_G.id.in_(mine), organizations.c.slug == home(identity))


async def locked_group(connection: AsyncConnection, identifier: str, identity: Identity) -> AnyRow:
    """Return a group that a caller manages, locked until the transaction ends.

    Raises:
        NotFoundError: There is none.
    """
    return await read_group(connection, identifier, managed(identity), lock=True)


async def read_group(
    connection: AsyncConnection,
    identifier: str,
    which: ColumnElement[bool],
    *,
    lock: bool = False,
) -> AnyRow:
    """Return a group that fulfils a condition. Raises as `locked_group`."""
    if "\0" in identifier:
        raise no_group(identifier)
    query = GROUPS.where(_G.id == identifier, which)
    if lock:
        query = query.with_for_update(of=learner_groups)
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise no_group(identifier)
    return row


async def messages(
    connection: AsyncConnection, rows: Sequence[AnyRow], identity: Identity
) -> list[pb.Group]:
    """Return groups as a caller sees them."""
    ids = [row.id for row in rows]
    query = select(_G.id).join(organizations, organizations.c.id == _G.organization_id)
    own = {*await connection.scalars(query.where(_G.id.in_(ids), managed(identity)))}
    offered = (
        select(group_assistants.c.group_id, group_assistants.c.assistant_id)
        .join(assistants, assistants.c.id == group_assistants.c.assistant_id)
        .where(group_assistants.c.group_id.in_(ids), LIVING)
        .order_by(group_assistants.c.assistant_id)
    )
    of_groups = _collected(await connection.execute(offered))
    teaching = select(_M.group_id, _M.email).where(_M.group_id.in_(ids), _M.is_teacher)
    teachers = _collected(await connection.execute(teaching.order_by(_M.email)))
    learning = select(_M.group_id, func.count()).where(_M.group_id.in_(ids), ~_M.is_teacher)
    counts = dict(map(tuple, await connection.execute(learning.group_by(_M.group_id))))
    return [
        _message(
            row, teachers[row.id], of_groups[row.id], counts.get(row.id, 0), managed=row.id in own
        )
        for row in rows
    ]


def _collected(rows: Iterable[AnyRow]) -> Mapping[str, list[str]]:
    values: dict[str, list[str]] = defaultdict(list)
    for group, value in rows:
        values[group].append(str(value))
    return values


def _message(
    row: AnyRow, teachers: list[str], offered: list[str], count: int, *, managed: bool
) -> pb.Group:
    group = pb.Group(
        id=row.id,
        title=row.title,
        teachers=teachers,
        assistants=offered,
        organization=row.slug,
        managed=managed,
        create_time=Timestamp(seconds=row.created_at),
    )
    if managed:
        group.claim = row.claim
        group.member_count = count
        if row.code is not None:
            group.code.CopyFrom(code_message(row.code, row.code_expires_at, row.code_uses))
    return group


def code_message(code: str, expires_at: int, uses: int) -> pb.JoiningCode:
    """Return a joining code as a message."""
    end = Timestamp(seconds=expires_at)
    return pb.JoiningCode(code=code, expire_time=end, uses_left=uses)


def etag_of(row: AnyRow) -> str:
    """Return a text that changes with every change of a group."""
    return f"{row.id}-{row.revision}"


def change_of(action: str, row: AnyRow, **members: object) -> Change:
    """Return the change of a group for the audit log; each member has its new value."""
    return Change(f"group.{action}", row.id, row.slug, after=members)
