"""What is imported of each of LAMB's tables."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message
from heddle.assistant.v1 import rows_pb2
from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.contract.limits import MAX_MESSAGE_BYTES
from heddle_runtime.errors import HeddleError, InvalidRequestError

from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow, Value, whole_number
from heddle_migration_service.row_faults import isolated

_MAX_ID = 2**53
"""Above LAMB's ids, and far enough below those that a database can give."""
_MAX_ROW_BYTES = MAX_MESSAGE_BYTES // 2


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
    message: Message = field(default_factory=rows_pb2.RowBatch)
    """What is sent of it."""

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
    number: Callable[[Value], int | None] = whole_number
    """Returns the number that a row is known by, for its first column."""
    is_recent: bool = False
    """Whether most versions of LAMB lack the table. Then the report does not mention it."""

    def key_row(self, values: Mapping[str, Any], name: str) -> Message:
        """Return a row that has only its key, with the name that it got."""
        return self.message(
            **{**{column: values[column] for column in self.key}, self.key[0]: name}
        )


async def drafts_of(
    kind: Kind, tables: LambTables, organizations: OrganizationSlugs, rows: Sequence[LambRow]
) -> list[Draft]:
    """Return the draft of each row. One that cannot be read is refused and stops no other."""

    async def drafts(rows: Sequence[LambRow]) -> list[Draft]:
        for row in rows:
            row.notes.clear()  # of an attempt that failed
        drafts = await kind.drafts(tables, organizations, rows)
        for draft in drafts:
            if draft.error is None:
                draft.message = kind.message(**draft.values)
                if draft.message.ByteSize() > _MAX_ROW_BYTES:
                    draft.refuse(f"It has more than {_MAX_ROW_BYTES // 1024**2} MiB.")
        return drafts

    def refused(row: LambRow, error: HeddleError) -> Draft:
        first = next(iter(row.values.values()), None)
        return Draft(kind.number(first) or 0, "", {}, [], error)

    return await isolated(rows, drafts, refused)


def drafted(
    row: LambRow, name: str | None, values: dict[str, Any], number: int | None = None
) -> Draft:
    """Return the draft of a row; refused if it has no id that Heddle could store.

    Args:
        row: The row.
        name: What a person knows it by.
        values: What is stored besides the id.
        number: Stands for an id that is no number.
    """
    identifier = row.whole("id") if number is None else number
    if identifier is not None and 0 < identifier <= _MAX_ID:
        return Draft(identifier, name or "", {"id": identifier, **values}, row.notes)
    draft = Draft(identifier or 0, name or "", values, row.notes)
    draft.refuse(f"Its id is no whole number from 1 to {_MAX_ID:,}.")
    return draft


def times(row: LambRow) -> dict[str, int]:
    """Return when a row was created and changed; an unknown time becomes 0."""
    created_at = row.seconds("created_at")
    if created_at is None:
        row.notes.append("When it was made is not known.")
        created_at = 0
    return {"created_at": created_at, "updated_at": row.seconds("updated_at") or created_at}
