"""Migrating."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_migration_service.conversion import Conversion, LegacyColumns, dump
from heddle_migration_service.database.schema import assistants
from heddle_migration_service.kept.journal import log_migration
from heddle_migration_service.kept.migrating import converted, keeping, original, shown_title


class Old(NamedTuple):
    """What a migration needs of a row."""

    id: int
    name: str
    owner: str
    metadata: str | None
    rag_top_k: Any
    rag_collections: str | None
    revision: int

    @property
    def legacy(self) -> LegacyColumns:
        """The columns that told a part of the configuration before version 2."""
        return LegacyColumns(self.rag_top_k, self.rag_collections)


@dataclass(frozen=True, slots=True)
class Migrated:
    """What becomes of a row."""

    subject: Old
    conversion: Conversion
    text: str

    @property
    def notes(self) -> Sequence[str]:
        """What a person should look at."""
        return self.conversion.notes


_UPDATE = (
    update(assistants)
    .where(assistants.c.id == bindparam("which"))
    .values(
        metadata=bindparam("migrated"),
        title=bindparam("shown"),
        revision=assistants.c.revision + 1,
    )
)


class Forth:
    """Brings assistants to the newest format."""

    def query(self) -> "Select[*tuple[Any, ...]]":
        """Return the query for all assistants."""
        return select(*(assistants.c[name] for name in Old._fields))

    def subject(self, values: Sequence[Any]) -> Old:
        """Return a row."""
        return Old._make(values)

    def change(self, subject: Old) -> Migrated | None:
        """Return what a migration makes of a row, None if it is of the newest format."""
        conversion = converted(subject)
        if not conversion.changed:
            return None
        return Migrated(subject, conversion, dump(conversion.metadata))

    async def write(self, connection: AsyncConnection, changes: Sequence[Migrated]) -> None:
        """Write the new documents, and the old ones beside them."""
        rows = [
            {
                "which": change.subject.id,
                "migrated": change.text,
                "shown": shown_title(change.conversion.metadata),
            }
            for change in changes
        ]
        await connection.execute(_UPDATE, rows)
        kept = [original(change.subject, change.conversion, change.text) for change in changes]
        await connection.execute(keeping(connection), kept)

    def written(self, changes: Sequence[Migrated]) -> None:
        """Log each migration."""
        for change in changes:
            log_migration(change.subject, change.conversion, change.text)
