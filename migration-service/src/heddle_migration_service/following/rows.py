"""The rows of LAMB's database, and which of them changed."""

import hashlib
import marshal
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple

from heddle.assistant.v1 import following_pb2 as pb

from heddle_migration_service.lamb import assistant_shares, publications
from heddle_migration_service.lamb.assistants import ASSISTANTS
from heddle_migration_service.lamb.kinds import Kind
from heddle_migration_service.lamb.knowledge_bases import KNOWLEDGE_BASES
from heddle_migration_service.lamb.knowledge_stores import KNOWLEDGE_STORES
from heddle_migration_service.lamb.organizations import ORGANIZATIONS
from heddle_migration_service.lamb.rubrics import RUBRICS
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.usage import USAGE
from heddle_migration_service.lamb.users import USERS
from heddle_migration_service.lamb.values import LambRow, Value

_FORM = 1
"""Changes if other columns are read, so that a new release compares all rows."""
_MARSHAL = 2  # equal values have equal bytes in this version
_NOT_COMPARED = ("updated_at",)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A table of LAMB that is followed."""

    table: "pb.FollowedTable.ValueType"
    kind: Kind
    related: Sequence[tuple[str, str, Sequence[str]]] = ()
    """Other tables whose rows belong to these: name, column with the id, other columns."""
    may_be_empty: bool = False
    """Whether all rows may go at once while LAMB goes on: an installation may have one of them."""

    @property
    def name(self) -> str:
        """LAMB's name of the table, without its prefix."""
        return self.kind.source


SOURCES = (
    Source(pb.FOLLOWED_TABLE_ORGANIZATIONS, ORGANIZATIONS),
    Source(
        pb.FOLLOWED_TABLE_USERS,
        USERS,
        [("organization_roles", "user_id", ("organization_id", "role"))],
    ),
    Source(
        pb.FOLLOWED_TABLE_ASSISTANTS,
        ASSISTANTS,
        [
            (
                publications.TABLE,
                "assistant_id",
                ("group_id", "group_name", "oauth_consumer_name", "created_at"),
            ),
            (assistant_shares.TABLE, "assistant_id", ("shared_with_user_id",)),
        ],
    ),
    Source(pb.FOLLOWED_TABLE_RUBRICS, RUBRICS, may_be_empty=True),
    Source(pb.FOLLOWED_TABLE_KNOWLEDGE_BASES, KNOWLEDGE_BASES, may_be_empty=True),
    Source(pb.FOLLOWED_TABLE_KNOWLEDGE_STORES, KNOWLEDGE_STORES, may_be_empty=True),
    Source(pb.FOLLOWED_TABLE_USAGE, USAGE),
)


class Changed(NamedTuple):
    """A row that may have changed."""

    id: int
    row: LambRow
    fingerprint: int
    digest: str


@dataclass(slots=True)
class Known:
    """What is known about the rows of a table."""

    fingerprints: dict[int, int] = field(default_factory=dict)
    """By the ids of rows that were applied, as this process sees them."""
    digests: dict[int, str] = field(default_factory=dict)
    """By the ids of the rows that are followed, as they are stored; empty for refused ones."""

    def accept(self, changed: Changed) -> None:
        """Count a row as applied."""
        self.fingerprints[changed.id] = changed.fingerprint
        self.digests[changed.id] = changed.digest

    def refuse(self, changed: Changed) -> None:
        """Count a row as refused, until it changes or `retry` is called."""
        self.fingerprints[changed.id] = changed.fingerprint
        self.digests[changed.id] = ""

    def retry(self) -> None:
        """Let refused rows be sent again."""
        for identifier, digest in self.digests.items():
            if not digest:
                self.fingerprints.pop(identifier, None)


async def changed_rows(
    tables: LambTables, source: Source, known: Known, context: object, ids: set[int]
) -> AsyncGenerator[list[Changed]]:
    """Yield the rows of a table that changed, in batches, and add the ids of all rows to `ids`.

    Args:
        tables: Where they are.
        source: Which table.
        known: What was applied.
        context: What all rows depend on.
        ids: Is filled.
    """
    related = [
        await _related(tables, table, column, columns) for table, column, columns in source.related
    ]
    async with aclosing(tables.tuples(source.name, source.kind.columns)) as batches:
        async for names, rows in batches:
            if changed := _changed(source, names, rows, related, known, context, ids):
                yield changed


def _changed(
    source: Source,
    names: list[str],
    rows: Sequence[tuple[Value, ...]],
    related: Sequence[Mapping[Value, object]],
    known: Known,
    context: object,
    ids: set[int],
) -> list[Changed]:
    compared = [i for i, name in enumerate(names) if name not in _NOT_COMPARED]
    form = hashlib.blake2b(repr((_FORM, names)).encode()).digest()
    changed = []
    for values in rows:
        identifier = source.kind.number(values[0]) or 0
        if identifier in ids:  # of rows without an id, one is enough to be reported
            continue
        ids.add(identifier)
        content = tuple(values[i] for i in compared)
        whole = (content, *(each.get(identifier) for each in related), context)
        data = marshal.dumps(whole, _MARSHAL)  # type: ignore[arg-type] # of rows
        fingerprint = hash(data)
        if known.fingerprints.get(identifier) == fingerprint:
            continue
        digest = hashlib.blake2b(data, digest_size=20, key=form).hexdigest()
        if known.digests.get(identifier) == digest:
            known.fingerprints[identifier] = fingerprint
            continue
        row = LambRow(dict(zip(names, values, strict=True)))
        changed.append(Changed(identifier, row, fingerprint, digest))
    return changed


async def _related(
    tables: LambTables, table: str, column: str, columns: Sequence[str]
) -> dict[Value, tuple[tuple[Value, ...], ...]]:
    """Return the rows of a table by the ids that they belong to."""
    by_id: dict[Value, list[tuple[Value, ...]]] = defaultdict(list)
    async with aclosing(tables.tuples(table, (column, *columns))) as batches:
        async for names, rows in batches:
            if column not in names:
                return {}
            place = names.index(column)
            for values in rows:
                by_id[values[place]].append(tuple(values[1:]))
    return {identifier: tuple(sorted(each, key=repr)) for identifier, each in by_id.items()}
