"""Which rows of a batch are new, which are there already, and which cannot be kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from heddle_runtime.errors import AlreadyExistsError
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_migration_service.database.identities import continue_after_given_ids
from heddle_migration_service.lamb.kinds import Draft, Kind

_LONGEST_KEY = 2_000
"""Bytes of the texts in a row's indexes; PostgreSQL takes 2,704 less what it needs itself."""


@dataclass(slots=True)
class Fates:
    """What became of a batch."""

    new: list[Draft] = field(default_factory=list)
    known: list[Draft] = field(default_factory=list)
    """Imported before, and left as they are."""
    refused: list[Draft] = field(default_factory=list)


@dataclass(slots=True)
class Present:
    """What Heddle has already."""

    by_id: dict[int, Any]
    """By id, what a row is known by."""
    keys: set[int]
    """Hashes of the keys: a dry run remembers all that it met."""


async def keep(connection: AsyncConnection, kind: Kind, drafts: Sequence[Draft]) -> Fates:
    """Insert what is new, in the caller's transaction."""
    # First, for it also keeps others from inserting meanwhile.
    await continue_after_given_ids(connection, kind.table)
    fates = decide(kind, drafts, await present(connection, kind, drafts))
    if fates.new:
        await connection.execute(insert(kind.table), [draft.values for draft in fates.new])
        await continue_after_given_ids(connection, kind.table)
    return fates


async def present(connection: AsyncConnection, kind: Kind, drafts: Sequence[Draft]) -> Present:
    """Return what Heddle has of the ids and keys of a batch."""
    ids = [draft.id for draft in drafts]
    query = select(kind.table.c.id, kind.known_by).where(kind.table.c.id.in_(ids))
    by_id = {row[0]: row[1] for row in await connection.execute(query)}
    first = kind.key[0]
    names = [draft.values[first.name] for draft in drafts]
    if kind.renamed:
        names += [kind.renamed(draft) for draft in drafts]
    rows = await connection.execute(select(*kind.key).where(first.in_(names)))
    return Present(by_id, {hash(tuple(row)) for row in rows})


def decide(kind: Kind, drafts: Sequence[Draft], there: Present) -> Fates:
    """Say what becomes of each draft; what is new is `there` afterwards."""
    fates, indexed = Fates(), _indexed(kind)
    for draft in drafts:
        known = there.by_id.get(draft.id)
        if draft.error is None and known == draft.values[kind.known_by.name]:
            fates.known.append(draft)
            continue
        if draft.error is None and known is not None:
            _refuse(draft, f"has another row with the id {draft.id}")
        if draft.error is None:
            _measure(indexed, draft)
        if draft.error is None:
            _claim(kind, draft, there.keys)
        (fates.refused if draft.error else fates.new).append(draft)
    return fates


def _indexed(kind: Kind) -> set[str]:
    """Return the columns by which rows are found."""
    columns = [*kind.key, *(column for index in kind.table.indexes for column in index.columns)]
    return {column.name for column in columns}


def _measure(names: Iterable[str], draft: Draft) -> None:
    """Refuse texts that are too long for an index: they would stop the whole batch."""
    texts = {
        name: len(value.encode()) for name in names if isinstance(value := draft.values[name], str)
    }
    if sum(texts.values()) > _LONGEST_KEY:
        longest = max(texts, key=lambda name: texts[name])
        draft.refuse(
            f"Its {longest} is longer than what a row can be found by. Shorten it in LAMB."
        )


def _claim(kind: Kind, draft: Draft, taken: set[int]) -> None:
    if _key(kind, draft) in taken and kind.renamed:
        draft.notes.append("Another one of its owner has its name; it has a new one.")
        draft.values[kind.key[0].name] = kind.renamed(draft)
    if _key(kind, draft) in taken:
        _refuse(draft, f"has another row with the {kind.key[0].name} of this one")
    taken.add(_key(kind, draft))


def _key(kind: Kind, draft: Draft) -> int:
    return hash(tuple(draft.values[column.name] for column in kind.key))


def _refuse(draft: Draft, why: str) -> None:
    draft.error = AlreadyExistsError(f"Heddle {why}, which stays as it is.", id=str(draft.id))
