"""Applies changes of users, rubrics, usage and the registries of knowledge bases and stores."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import RowMapping, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.checks import ROLES
from heddle_assistants.database.schema import usage, users
from heddle_assistants.following.applied_rows import Draft
from heddle_assistants.imports.kinds import Kind

USAGE = "usage"
_ORGANIZATION = "organization"
_AMOUNTS = ("requests", "prompt_tokens", "completion_tokens", "cost_picos")


async def apply_rows(
    connection: AsyncConnection,
    kind: Kind,
    drafts: Sequence[Draft],
    organization_ids: Mapping[str, int],
) -> None:
    """Apply the current rows of a table, and store the outcomes in the drafts."""
    table = kind.table
    ids = [draft.id for draft in drafts]
    query = select(table).where(table.c.id.in_(ids)).order_by(table.c.id).with_for_update()
    rows = {row["id"]: row for row in (await connection.execute(query)).mappings()}
    slugs = {number: slug for slug, number in organization_ids.items()}
    for draft in drafts:
        row = rows.get(draft.id)
        if draft.after is None:
            if row is not None:
                await _remove(connection, kind, draft, row, slugs)
        elif row is None or row[kind.unchanging.name] != draft.after[kind.unchanging.name]:
            draft.refusal = f"Heddle has no row with this id and {kind.unchanging.name}."
        elif table is users and draft.after["role"] not in ROLES:
            draft.refusal = f"The role of a user must be {', '.join(ROLES)}."
        else:
            await _apply(connection, kind, draft, row, organization_ids)


async def apply_usage(connection: AsyncConnection, drafts: Sequence[Draft]) -> None:
    """Set the sums of the other installation; a row that is gone stays.

    What assistants used in Heddle is in rows of its own.
    """
    for draft in drafts:
        if draft.after is None or not any(map(draft.differs, _AMOUNTS)):
            continue
        query = update(usage).where(
            usage.c.assistant_id == draft.id,
            usage.c.connector == draft.after["connector"],
            usage.c.model == draft.after["model"],
        )
        amounts = {name: draft.after[name] for name in _AMOUNTS}
        draft.changed = bool((await connection.execute(query.values(**amounts))).rowcount)


async def _apply(
    connection: AsyncConnection,
    kind: Kind,
    draft: Draft,
    row: RowMapping,
    organization_ids: Mapping[str, int],
) -> None:
    stored = _stored(kind, row, {n: slug for slug, n in organization_ids.items()})
    changed = draft.merged(stored, stored)
    if not changed:
        return
    draft.change()
    if _ORGANIZATION in changed:
        changed["organization_id"] = organization_ids[changed.pop(_ORGANIZATION)]
    values = {**changed, "updated_at": int(time.time())}
    table = kind.table
    await connection.execute(update(table).where(table.c.id == row["id"]).values(**values))


async def _remove(
    connection: AsyncConnection,
    kind: Kind,
    draft: Draft,
    row: RowMapping,
    slugs: Mapping[int, str],
) -> None:
    """Disable a user; delete another row unless it was changed here."""
    table = kind.table
    if table is users:
        if row["enabled"]:
            query = update(users).where(users.c.id == row["id"])
            await connection.execute(query.values(enabled=False, updated_at=int(time.time())))
            draft.changed = True
        return
    stored = _stored(kind, row, slugs)
    if all(draft.was(name, value) for name, value in stored.items()):
        await connection.execute(delete(table).where(table.c.id == row["id"]))
        draft.changed = True
    else:
        draft.note = f"{draft.origin} deleted it. It stays, because it changed in Heddle."


def _stored(kind: Kind, row: RowMapping, slugs: Mapping[int, str]) -> dict[str, Any]:
    values = {name: row[name] for name in kind.followed}
    return {_ORGANIZATION: slugs.get(row["organization_id"], ""), **values}
