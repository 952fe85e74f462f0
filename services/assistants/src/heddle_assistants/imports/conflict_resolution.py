"""Decides which rows of a batch are new, which exist already, and which cannot be inserted."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from heddle_runtime.errors import AlreadyExistsError, HeddleError, InvalidRequestError
from heddle_runtime.storage.database.identities import continue_after_explicit_ids
from sqlalchemy import ColumnElement, insert, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.checks import ROLES
from heddle_assistants.database.schema import users
from heddle_assistants.imports.kinds import Kind

_MAX_KEY_BYTES = 2_000
"""The size of the texts in a row's indexes; PostgreSQL takes 2,704 less what it needs itself."""
Key = tuple[Any, ...]


@dataclass(slots=True)
class Draft:
    """A row that may be inserted."""

    values: dict[str, Any]
    """The values by the names of the columns."""
    notes: list[str] = field(default_factory=list)
    """Notes for a person who checks the import."""
    error: HeddleError | None = None
    """The error if it is not inserted."""
    present: bool = False
    """Whether it was imported before."""
    renamed: bool = False
    """Whether it got another name because its own was taken."""

    @property
    def id(self) -> int:
        """The id that it came with."""
        return int(self.values["id"])

    @property
    def is_new(self) -> bool:
        """Whether it is to be inserted."""
        return not self.present and self.error is None


@dataclass(slots=True)
class Present:
    """The rows that the table has already."""

    by_id: dict[int, Any]
    """The values of the unchanging column, by id."""
    keys: set[Key]


async def insert_new(connection: AsyncConnection, kind: Kind, drafts: Sequence[Draft]) -> None:
    """Insert the new rows, in the caller's transaction."""
    # First, because it also keeps others from inserting meanwhile.
    await continue_after_explicit_ids(connection, kind.table)
    resolve(kind, drafts, await present_rows(connection, kind, drafts))
    new = [draft.values for draft in drafts if draft.is_new]
    if new:
        await connection.execute(insert(kind.table), new)
        await continue_after_explicit_ids(connection, kind.table)


async def present_rows(connection: AsyncConnection, kind: Kind, drafts: Sequence[Draft]) -> Present:
    """Return the existing rows with the ids and keys of a batch."""
    ids = [draft.id for draft in drafts]
    query = select(kind.table.c.id, kind.unchanging).where(kind.table.c.id.in_(ids))
    by_id = {row[0]: row[1] for row in await connection.execute(query)}
    first = kind.key[0]
    names = [draft.values[first.name] for draft in drafts]
    if kind.renames:
        names += [_new_name(kind, draft) for draft in drafts]
    rows = await connection.execute(
        select(*kind.key).where(first.in_(names), *_rivals(kind, drafts))
    )
    return Present(by_id, {tuple(row) for row in rows})


def resolve(kind: Kind, drafts: Sequence[Draft], present: Present) -> None:
    """Decide about each draft. Afterwards `present` contains the keys of the new ones."""
    indexed = _indexed_columns(kind)
    for draft in drafts:
        stored = present.by_id.get(draft.id)
        if stored is not None and stored == draft.values[kind.unchanging.name]:
            draft.present = True
        elif stored is not None:
            draft.error = _conflict(draft, f"has another row with the id {draft.id}")
        else:
            draft.error = draft.error or _incomplete(kind, draft) or _too_long(indexed, draft)
        if draft.is_new:
            _claim_key(kind, draft, present.keys)


def _rivals(kind: Kind, drafts: Sequence[Draft]) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of the rows whose key prevents the insertion of a draft."""
    if kind.table is users:  # a guest of another organisation does
        places = [(draft.values["organization_id"], draft.values["email"]) for draft in drafts]
        yield or_(users.c.home, tuple_(users.c.organization_id, users.c.email).in_(places))


def key_of(kind: Kind, values: dict[str, Any]) -> Key:
    """Return the values that no other row may share."""
    return tuple(values[column.name] for column in kind.key)


def _indexed_columns(kind: Kind) -> set[str]:
    columns = [*kind.key, *(column for index in kind.table.indexes for column in index.columns)]
    return {column.name for column in columns}


def _incomplete(kind: Kind, draft: Draft) -> HeddleError | None:
    """Return the error of a row that its table cannot hold: it would stop the batch."""
    missing = [
        column.name
        for column in kind.table.columns
        if not column.nullable and draft.values.get(column.name, "") is None
    ]
    if missing:
        return InvalidRequestError(
            f"The row has no {' and no '.join(missing)}. Set it in the source."
        )
    if kind.table is users and draft.values["role"] not in ROLES:
        return InvalidRequestError(f"The role of a user must be {', '.join(ROLES)}.")
    return None


def _too_long(columns: Iterable[str], draft: Draft) -> HeddleError | None:
    """Return the error of texts that are too long for an index: they would stop the batch."""
    sizes = {
        name: len(value.encode())
        for name in columns
        if isinstance(value := draft.values[name], str)
    }
    if sum(sizes.values()) <= _MAX_KEY_BYTES:
        return None
    longest = max(sizes, key=lambda name: sizes[name])
    return InvalidRequestError(
        f"The texts that a row is found by may have {_MAX_KEY_BYTES:,} bytes in all. Shorten its "
        f"{longest} in the source."
    )


def _claim_key(kind: Kind, draft: Draft, claimed: set[Key]) -> None:
    if key_of(kind, draft.values) in claimed and kind.renames:
        draft.notes.append("Another one of its owner has its name; it has a new one.")
        draft.values[kind.key[0].name] = _new_name(kind, draft)
        draft.renamed = True
    if key_of(kind, draft.values) in claimed:
        what = f"has another row with the {kind.key[0].name} of this one"
        draft.error = _conflict(draft, what)
    claimed.add(key_of(kind, draft.values))


def _new_name(kind: Kind, draft: Draft) -> str:
    return f"{draft.values[kind.key[0].name]}_{draft.id}"


def _conflict(draft: Draft, what: str) -> HeddleError:
    return AlreadyExistsError(f"Heddle {what}, which stays as it is.", id=str(draft.id))
