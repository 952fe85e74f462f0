"""Reading what changed in LAMB's database: all at once, so that no lock is held for long."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from google.protobuf.message import Message
from heddle.assistant.v1 import following_pb2 as pb
from heddle_conversion import dump

from heddle_migration_service.following.rows import (
    SOURCES,
    Changed,
    Known,
    Source,
    changed_rows,
)
from heddle_migration_service.lamb.assistant_shares import shares
from heddle_migration_service.lamb.errors import LambDatabaseError, explained
from heddle_migration_service.lamb.kinds import drafts_of
from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs, organization_slugs
from heddle_migration_service.lamb.organizations import ORGANIZATIONS
from heddle_migration_service.lamb.prices import Prices, lamb_prices
from heddle_migration_service.lamb.snapshot import opened
from heddle_migration_service.lamb.tables import LambTables, lamb_tables

MAX_CHANGED = 2_000
"""Rows that are read together. If more changed, the database is read again for the others."""


@dataclass(slots=True)
class Batch:
    """Rows of one table that changed."""

    source: Source
    rows: list[tuple[Changed, Message]] = field(default_factory=list)
    shares: dict[int | None, list[str]] = field(default_factory=dict)
    """Whom assistants are shared with, by their ids."""
    refused: list[tuple[Changed, str]] = field(default_factory=list)
    """Rows that cannot be followed, and why."""
    gone: list[int] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not (self.rows or self.refused or self.gone)


@dataclass(slots=True)
class Comparison:
    """What changed, as of one moment."""

    batches: list[Batch] = field(default_factory=list)
    is_complete: bool = True
    """Whether it has all rows that changed."""


@dataclass(frozen=True, slots=True)
class _Context:
    """What rows depend on besides their own tables."""

    slugs: OrganizationSlugs
    prices: Prices
    room: int
    """How many rows there is room for."""

    def of(self, source: Source) -> object:
        """Return what all rows of a table depend on, for comparisons."""
        if source.kind is ORGANIZATIONS:
            return dump(self.prices)
        return tuple(sorted(self.slugs.by_lamb_id.items()))


async def compare(path: Path, prefix: str | None, known: Mapping[Source, Known]) -> Comparison:
    """Return what changed in the tables of a LAMB database.

    Raises:
        LambDatabaseError: There is no database, it cannot be read, or a table was emptied.
    """
    comparison = Comparison()
    room = MAX_CHANGED
    with explained(path):
        async with opened(path) as connection:
            tables = await lamb_tables(connection, path, prefix)
            slugs, prices = await organization_slugs(tables), await lamb_prices(tables)
            for source in SOURCES:
                if not await tables.columns(source.name):
                    continue
                batch, is_complete = await _table(
                    tables, source, known[source], _Context(slugs, prices, room)
                )
                if not source.may_be_empty and _is_emptied(batch, known[source]):
                    raise LambDatabaseError(_EMPTIED.format(path=path, table=source.name))
                room -= len(batch.rows) + len(batch.refused)
                if not batch.is_empty:
                    comparison.batches.append(batch)
                if not is_complete:
                    comparison.is_complete = False
                    return comparison
    return comparison


def _is_emptied(batch: Batch, known: Known) -> bool:
    return bool(batch.gone) and len(batch.gone) == len(known.digests) and not batch.rows


_EMPTIED = (
    "All rows of the table {table!r} of the LAMB database {path} that are followed are gone. They "
    "stay in Heddle. If LAMB begins anew, remove HEDDLE_LAMB_DATABASE."
)


async def _table(
    tables: LambTables,
    source: Source,
    known: Known,
    context: _Context,
) -> tuple[Batch, bool]:
    """Return what changed in a table, and whether that is all."""
    batch = Batch(source)
    ids: set[int] = set()
    of_all = context.of(source)
    async with aclosing(changed_rows(tables, source, known, of_all, ids)) as batches:
        async for changed in batches:
            await _add(batch, tables, context, changed)
            if len(batch.rows) + len(batch.refused) >= context.room:
                return batch, False
    batch.gone = sorted(known.digests.keys() - ids)
    return batch, True


async def _add(
    batch: Batch, tables: LambTables, context: _Context, changed: Sequence[Changed]
) -> None:
    kind = batch.source.kind
    drafts = await drafts_of(kind, tables, context.slugs, [each.row for each in changed])
    for each, draft in zip(changed, drafts, strict=True):
        if draft.error:
            batch.refused.append((each, draft.error.message))
        else:
            batch.rows.append((each, draft.message))
    if batch.source.table == pb.FOLLOWED_TABLE_ASSISTANTS:
        batch.shares |= await shares(tables, [each.id for each in changed])
