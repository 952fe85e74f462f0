"""What there is to say about each kind of row that is imported."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.errors import HeddleError, InvalidRequestError
from sqlalchemy import Column, Table

from heddle_migration_service.lamb.organizations import OrganizationIds
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow

_LARGEST_ID = 2**63 - 1


@dataclass(slots=True)
class Draft:
    """A row as Heddle would keep it."""

    id: int
    name: str
    values: dict[str, Any]
    """By the names of Heddle's columns. `organization_id` is None for `UNASSIGNED`."""
    notes: list[str] = field(default_factory=list)
    """What a person should look at."""
    error: HeddleError | None = None
    """Why it is not kept."""

    def refuse(self, message: str) -> None:
        """Say why it is not kept."""
        self.error = InvalidRequestError(message)


Drafts = Callable[[LambTables, OrganizationIds, Sequence[LambRow]], Awaitable[list[Draft]]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One of LAMB's tables."""

    source: str
    """LAMB's name of the table, without its prefix."""
    columns: Sequence[str]
    """What is read of it, besides the id."""
    table: Table
    """Heddle's table."""
    drafts: Drafts
    """Says what Heddle would keep of some rows."""
    known_by: Column[Any]
    """Tells a row that was imported before from another one of its id: no edit changes it."""
    key: Sequence[Column[Any]]
    """What no two rows may share besides the id; the first of them may be changed for that."""
    strays: Callable[[LambTables], Awaitable[list[pb.Finding]]] | None = None
    """Tells of rows of other tables that belong to rows which are not there."""
    renamed: Callable[[Draft], str] | None = None
    """Returns what the first of `key` is if the key is taken. Without, the row is refused."""


def drafted(row: LambRow, name: str | None, values: dict[str, Any]) -> Draft:
    """Return the draft of a row; refused if it has no id that Heddle could keep."""
    identifier = row.whole("id")
    if identifier is not None and 0 < identifier <= _LARGEST_ID:
        return Draft(identifier, name or "", {"id": identifier, **values}, row.notes)
    draft = Draft(0, name or "", values, row.notes)
    draft.refuse("Its id is no positive whole number.")
    return draft


def times(row: LambRow) -> dict[str, int]:
    """Return when a row was made and changed; 0 is kept for a time that nobody knows."""
    created_at = row.seconds("created_at")
    if created_at is None:
        row.notes.append("When it was made is not known.")
        created_at = 0
    return {"created_at": created_at, "updated_at": row.seconds("updated_at") or created_at}
