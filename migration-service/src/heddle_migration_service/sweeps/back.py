"""Taking migrations back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from heddle_runtime.errors import ConflictError
from sqlalchemy import Select, bindparam, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_migration_service.conversion import parse
from heddle_migration_service.database.schema import assistants, originals
from heddle_migration_service.kept.migrating import shown_title


class New(NamedTuple):
    """What taking a migration back needs of a row and of what is kept beside it."""

    id: int
    name: str
    metadata: str | None
    revision: int
    kept_for: int | None
    """The id again; None if nothing is kept."""
    original: str | None
    migrated: str | None


@dataclass(frozen=True, slots=True)
class Restored:
    """What becomes of a row: its original."""

    subject: New

    @property
    def notes(self) -> Sequence[str]:
        """What a person should look at."""
        return ()


_QUERY = select(
    assistants.c.id,
    assistants.c.name,
    assistants.c.metadata,
    assistants.c.revision,
    originals.c.assistant_id,
    originals.c.metadata,
    originals.c.migrated,
).outerjoin(originals, originals.c.assistant_id == assistants.c.id)
_UPDATE = (
    update(assistants)
    .where(assistants.c.id == bindparam("which"))
    .values(
        metadata=bindparam("original"),
        title=bindparam("shown"),
        revision=assistants.c.revision + 1,
    )
)


class Back:
    """Gives assistants the documents back that they had before."""

    def __init__(self, *, discard_edits: bool) -> None:
        self._discard_edits = discard_edits

    def query(self) -> "Select[*tuple[Any, ...]]":
        """Return the query for all assistants."""
        return _QUERY

    def subject(self, values: Sequence[Any]) -> New:
        """Return a row."""
        return New._make(values)

    def change(self, subject: New) -> Restored | None:
        """Return what becomes of a row, None if it was not migrated.

        Raises:
            ConflictError: It was edited since.
        """
        if subject.kept_for is None:
            return None
        if subject.metadata != subject.migrated and not self._discard_edits:
            message = f"The assistant {str(subject.id)!r} was edited after its migration."
            raise ConflictError(message, assistant=str(subject.id))
        return Restored(subject)

    async def write(self, connection: AsyncConnection, changes: Sequence[Restored]) -> None:
        """Put the old documents back, byte for byte."""
        rows = [
            {
                "which": each.subject.id,
                "original": each.subject.original,
                "shown": shown_title(parse(each.subject.original)),
            }
            for each in changes
        ]
        await connection.execute(_UPDATE, rows)
        ids = [each.subject.id for each in changes]
        await connection.execute(delete(originals).where(originals.c.assistant_id.in_(ids)))

    def written(self, changes: Sequence[Restored]) -> None:
        """Nothing is told."""
