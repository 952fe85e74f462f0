"""Applying changes of users, rubrics and the registries of knowledge bases and stores."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, RowMapping, Table, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.checks import ROLES
from heddle_assistants.database.schema import (
    knowledge_bases,
    knowledge_stores,
    rubrics,
    users,
)
from heddle_assistants.following.applied_rows import Draft

_ORGANIZATION = "organization"


@dataclass(frozen=True, slots=True)
class Followed:
    """A table, and what of it is followed."""

    table: Table
    key: Column[Any]
    """Never changes. By it a row is known."""
    columns: Sequence[str]
    """Besides the organisation."""


FOLLOWED = {
    "users": Followed(users, users.c.email, ("name", "role", "enabled")),
    "rubrics": Followed(
        rubrics,
        rubrics.c.rubric_id,
        (
            *("owner_email", "title", "description", "rubric_data"),
            *("is_public", "is_showcase", "parent_rubric_id"),
        ),
    ),
    "knowledge_bases": Followed(
        knowledge_bases,
        knowledge_bases.c.kb_id,
        ("owner_email", "name", "description", "is_shared"),
    ),
    "knowledge_stores": Followed(
        knowledge_stores,
        knowledge_stores.c.store_id,
        (
            *("owner_email", "name", "description", "is_shared"),
            *("embedding_vendor", "embedding_model", "embedding_endpoint"),
        ),
    ),
}


async def apply_rows(
    connection: AsyncConnection,
    followed: Followed,
    drafts: Sequence[Draft],
    organization_ids: Mapping[str, int],
) -> None:
    """Apply what rows are now; say in the drafts what became of each."""
    table = followed.table
    ids = [draft.id for draft in drafts]
    query = select(table).where(table.c.id.in_(ids)).order_by(table.c.id).with_for_update()
    rows = {row["id"]: row for row in (await connection.execute(query)).mappings()}
    slugs = {number: slug for slug, number in organization_ids.items()}
    for draft in drafts:
        row = rows.get(draft.id)
        if draft.after is None:
            if row is not None:
                await _remove(connection, followed, draft, row, slugs)
        elif row is None or row[followed.key.name] != draft.after[followed.key.name]:
            draft.refusal = f"Heddle has no row with this id and {followed.key.name}."
        elif table is users and draft.after["role"] not in ROLES:
            draft.refusal = f"The role of a user must be {', '.join(ROLES)}."
        else:
            await _apply(connection, followed, draft, row, organization_ids)


async def _apply(
    connection: AsyncConnection,
    followed: Followed,
    draft: Draft,
    row: RowMapping,
    organization_ids: Mapping[str, int],
) -> None:
    after = draft.after
    assert after is not None  # noqa: S101 - the caller looked
    stored = _stored(followed, row, {n: slug for slug, n in organization_ids.items()})
    changed: dict[str, Any] = {}
    for name in (_ORGANIZATION, *followed.columns):
        mine = stored[name]
        if not (draft.differs(name) or draft.was_gone) or mine == after[name]:
            continue
        changed[name] = after[name]
        if not (draft.was_gone or draft.was(name, mine)):
            draft.lost.append(f"{name} (in Heddle {str(mine)[:200]!r})")
    if not changed:
        return
    draft.changed = True
    if draft.lost:
        draft.note = f"Changed in LAMB and in Heddle; LAMB's values apply: {', '.join(draft.lost)}."
    if _ORGANIZATION in changed:
        changed["organization_id"] = organization_ids[changed.pop(_ORGANIZATION)]
    values = {**changed, "updated_at": int(time.time())}
    table = followed.table
    await connection.execute(update(table).where(table.c.id == row["id"]).values(**values))


async def _remove(
    connection: AsyncConnection,
    followed: Followed,
    draft: Draft,
    row: RowMapping,
    slugs: Mapping[int, str],
) -> None:
    """Disable a user; delete another row unless it was changed here."""
    table = followed.table
    if table is users:
        if row["enabled"]:
            query = update(users).where(users.c.id == row["id"])
            await connection.execute(query.values(enabled=False, updated_at=int(time.time())))
            draft.changed = True
        return
    stored = _stored(followed, row, slugs)
    if all(draft.was(name, value) for name, value in stored.items()):
        await connection.execute(delete(table).where(table.c.id == row["id"]))
        draft.changed = True
    else:
        draft.note = "LAMB deleted it. It stays, because it changed in Heddle."


def _stored(followed: Followed, row: RowMapping, slugs: Mapping[int, str]) -> dict[str, Any]:
    values = {name: row[name] for name in followed.columns}
    return {_ORGANIZATION: slugs.get(row["organization_id"], ""), **values}
