"""What is imported of each of LAMB's tables."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message
from heddle.assistant.v1 import rows_pb2
from heddle.migration.v1 import migration_pb2 as pb
from heddle_conversion.identifiers import MAX_ROW_ID
from heddle_runtime.errors import HeddleError, InvalidRequestError

from heddle_migration_service.lamb.organizations import OrganizationSlugs
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow


@dataclass(slots=True)
class Draft:
    """A row as Heddle would store it."""

    id: int
    name: str
    values: dict[str, Any]
    """By the names of the fields of the message."""
    notes: list[str] = field(default_factory=list)
    """What a person should look at."""
    error: HeddleError | None = None
    """Why it is not imported."""

    def refuse(self, message: str) -> None:
        """Set why it is not imported."""
        self.error = InvalidRequestError(message)


Drafts = Callable[[LambTables, OrganizationSlugs, Sequence[LambRow]], Awaitable[list[Draft]]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One of LAMB's tables."""

    source: str
    """LAMB's name of the table, without its prefix."""
    columns: Sequence[str]
    """What is read of it, besides the id."""
    field: str
    """The field of `RowBatch` that its rows are sent in."""
    message: Callable[..., Message]
    """The type of a row."""
    key: Sequence[str]
    """What no two rows may share besides the id; the first of them is the name."""
    drafts: Drafts
    """Returns what Heddle would store of some rows."""
    strays: Callable[[LambTables], Awaitable[list[pb.Finding]]] | None = None
    """Reports rows of other tables that belong to rows which do not exist."""
    is_recent: bool = False
    """Whether most versions of LAMB lack the table. Then the report does not mention it."""

    def batch(self, rows: Sequence[Message]) -> rows_pb2.RowBatch:
        """Return what rows are sent in."""
        batch = rows_pb2.RowBatch()
        getattr(batch, self.field).extend(rows)
        return batch

    def key_row(self, values: Mapping[str, Any], name: str) -> Message:
        """Return a row that has only its key, with the name that it got."""
        return self.message(
            **{**{column: values[column] for column in self.key}, self.key[0]: name}
        )


def drafted(row: LambRow, name: str | None, values: dict[str, Any]) -> Draft:
    """Return the draft of a row; refused if it has no id that Heddle could store."""
    identifier = row.whole("id")
    if identifier is not None and 0 < identifier <= MAX_ROW_ID:
        return Draft(identifier, name or "", {"id": identifier, **values}, row.notes)
    draft = Draft(0, name or "", values, row.notes)
    draft.refuse("Its id is no positive whole number.")
    return draft


def times(row: LambRow) -> dict[str, int]:
    """Return when a row was created and changed; an unknown time becomes 0."""
    created_at = row.seconds("created_at")
    if created_at is None:
        row.notes.append("When it was made is not known.")
        created_at = 0
    return {"created_at": created_at, "updated_at": row.seconds("updated_at") or created_at}
