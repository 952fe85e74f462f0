"""Stores the rows of the other database as they were applied last."""

import json
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heddle.assistant.v1 import following_pb2 as pb
from heddle_conversion import dump
from heddle_runtime.storage.database.inserting import insertion, upsert
from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.database.schema import followed_rows

Values = Mapping[str, Any]
"""The columns of a row by name, JSON values."""
MAX_LISTED = 5_000
TABLES: Mapping["pb.FollowedTable.ValueType", str] = {
    pb.FOLLOWED_TABLE_ORGANIZATIONS: "organizations",
    pb.FOLLOWED_TABLE_USERS: "users",
    pb.FOLLOWED_TABLE_ASSISTANTS: "assistants",
    pb.FOLLOWED_TABLE_RUBRICS: "rubrics",
    pb.FOLLOWED_TABLE_KNOWLEDGE_BASES: "knowledge_bases",
    pb.FOLLOWED_TABLE_USAGE: "usage",
    pb.FOLLOWED_TABLE_KNOWLEDGE_STORES: "knowledge_stores",
}
"""The names of the tables, which are also those of the fields of `RowBatch`."""
GONE = "gone"
"""The digest of a row that was deleted there."""
_MAX_NOTE = 4_000


@dataclass(slots=True)
class Draft:
    """A row to apply."""

    id: int
    after: Values | None
    """The row now; None if it is deleted."""
    digest: str = ""
    origin: str = ""
    """The name of the other installation, for notes."""
    before: Values | None = None
    """The row as it was applied last; None if that is not known."""
    was_gone: bool = False
    """Whether it was already deleted when it was applied last."""
    changed: bool = False
    lost: list[str] = field(default_factory=list)
    """The fields that changed on both sides. Only the values from there remain."""
    note: str = ""
    refusal: str = ""

    def differs(self, name: str) -> bool:
        """Return whether a column changed there, or may have."""
        assert self.after is not None  # noqa: S101 - rows that are gone have no columns
        return self.before is None or self.before.get(name, _UNKNOWN) != self.after[name]

    def was(self, name: str, value: object) -> bool:
        """Return whether a column of the row applied last is known to have had this value."""
        return self.before is not None and self.before.get(name, _UNKNOWN) == value

    def merged(self, stored: Values, names: Iterable[str]) -> dict[str, Any]:
        """Return the columns that change here; those that changed on both sides are `lost`."""
        changed = {}
        for name in names:
            mine, after = stored[name], (self.after or {})[name]
            if mine == after or not (self.differs(name) or self.was_gone):
                continue
            changed[name] = after
            if not (self.was_gone or self.was(name, mine)):
                self.lost.append(f"{name} (in Heddle {str(mine)[:200]!r})")
        return changed

    def change(self) -> None:
        """Count the row as changed here, with a note on what is lost."""
        self.changed = True
        if self.lost:
            whose = f"Changed in {self.origin} and in Heddle; {self.origin}'s values apply"
            self.note = f"{whose}: {', '.join(self.lost)}."


_UNKNOWN = object()


async def listed(connection: AsyncConnection, source: str, after: int) -> list[pb.FollowedRow]:
    """Return the rows of a table after an id."""
    query = (
        select(followed_rows.c.row_id, followed_rows.c.digest)
        .where(followed_rows.c.source == source, followed_rows.c.row_id > after)
        .order_by(followed_rows.c.row_id)
        .limit(MAX_LISTED)
    )
    return [
        pb.FollowedRow(id=number, gone=True)
        if digest == GONE
        else pb.FollowedRow(id=number, digest=digest)
        for number, digest in await connection.execute(query)
    ]


async def read_applied(
    connection: AsyncConnection, source: str, drafts: Iterable[Draft]
) -> dict[int, Row[Any]]:
    """Read the rows as they were applied last into the drafts, and return the stored rows."""
    by_id = {draft.id: draft for draft in drafts}
    query = select(followed_rows).where(
        followed_rows.c.source == source, followed_rows.c.row_id.in_(by_id)
    )
    rows = {row.row_id: row for row in await connection.execute(query)}
    for number, row in rows.items():
        draft = by_id[number]
        draft.was_gone = row.digest == GONE
        if row.document:
            draft.before = json.loads(zlib.decompress(row.document))
    return rows


async def write_applied(
    connection: AsyncConnection,
    source: str,
    drafts: Iterable[Draft],
    former: Mapping[int, Row[Any]],
) -> None:
    """Store the applied rows. A refused row keeps its former one, and will be sent again."""
    values = [_values(source, draft, former.get(draft.id)) for draft in drafts]
    if not values:
        return
    await connection.execute(upsert(insertion(connection, followed_rows)), values)


def _values(source: str, draft: Draft, former: Row[Any] | None) -> dict[str, Any]:
    document = draft.before if draft.refusal or draft.after is None else draft.after
    digest = draft.digest if draft.after is not None else GONE
    note = "\n".join(filter(None, [draft.note, "" if former is None else former.note]))
    refusal = draft.refusal.replace("\0", "")
    noted_at = former.noted_at if former and (note or refusal) else None
    if draft.note or (refusal and (former is None or former.refusal != refusal)):
        noted_at = int(time.time())
    return {
        "source": source,
        "row_id": draft.id,
        "digest": "" if draft.refusal else digest,
        "document": b"" if document is None else zlib.compress(dump(document).encode()),
        "noted_at": noted_at,
        "note": note[:_MAX_NOTE].replace("\0", ""),
        "refusal": refusal,
    }
