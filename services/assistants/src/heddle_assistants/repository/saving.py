"""Stores a version and an event of the audit log with each change of an assistant."""

import json
import time
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion import MalformedMetadataError, dump, parse
from heddle_conversion.bindings import normal
from heddle_runtime.contract.audit import Change, Members, field_changes
from heddle_runtime.identity.call_metadata import caller
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.database.assistant_row import ROWS, Row
from heddle_assistants.database.schema import assistant_versions, assistants

_MIGRATE = "migrate"
"""The action that changes the format only."""
_METADATA = "metadata."
_NAMES = {
    "connector": "model.connector",
    "model": "model.model",
    "metadata._format_version": "",
    "metadata.title": "title",
}
"""The names of fields in audit events, and those of the JSON form of an assistant."""
_MEMBERS = {field.name for field in pb.Assistant.DESCRIPTOR.fields}
_SAME_ROW = {"id", "organization", "metadata", "published_at", "created_at", "updated_at"}
_COLUMNS = [name for name in Row._fields if name not in {*_SAME_ROW, "revision", "deleted_at"}]
_SHOWN = {"connector": "connector", "llm": "model", "orchestrator": "strategy"}
"""Members of the metadata that are shown, and their names in events."""
_NOT_STORED = {"id", "organization", "created_at", "updated_at", "revision", "deleted_at"}
_SNAPSHOT = [name for name in Row._fields if name not in _NOT_STORED]


async def save(  # noqa: PLR0913 - the last ones are named, and rare
    connection: AsyncConnection,
    changes: list[Change],
    action: str,
    before: Row | None,
    after: Row,
    *,
    converted: Row | None = None,
    restored: int = 0,
    note: str = "",
) -> None:
    """Add a version and the change of an assistant, in the transaction that wrote the row.

    Args:
        connection: The connection of the transaction.
        changes: The changes for the audit log.
        action: The action.
        before: None for a new assistant.
        after: What was written. If the revision is that of `before`, nothing was.
        converted: The row before in the newest format, if it was of another one.
        restored: The number of the version that was restored.
        note: A note for the author.
    """
    change = change_of(action, before, after)
    changes.append(change)
    if before is None:
        await connection.execute(insert(assistant_versions), [_version(after, action)])
    elif before.revision != after.revision:
        is_edit = not (before.deleted or after.deleted or action == _MIGRATE)
        edit = change_of(action, converted, after) if converted else change
        fields = changed_fields(edit) if is_edit else ()
        values = _version(after, action, changed=fields, restored=restored) | {"note": note}
        if after.deleted:  # what can be restored is what it was
            values["document"] = snapshot(before)
        await connection.execute(insert(assistant_versions), [values])


async def save_batch(connection: AsyncConnection, action: str, rows: Sequence[Row]) -> None:
    """Add a version for each row of a batch."""
    values = [_version(row, action) for row in rows]
    await connection.execute(insert(assistant_versions), values)


async def save_new(connection: AsyncConnection, action: str, ids: Iterable[int]) -> None:
    """Add the first version of each new row of a batch."""
    records = await connection.execute(ROWS.where(assistants.c.id.in_(ids)))
    rows = [Row._make(each) for each in records]
    if rows:
        await save_batch(connection, action, rows)


async def last_save(connection: AsyncConnection, row: Row) -> tuple[str, int]:
    """Return the user who saved a row last (empty if unknown), and the time."""
    columns = (assistant_versions.c.author, assistant_versions.c.saved_at)
    query = select(*columns).where(
        assistant_versions.c.assistant_id == row.id, assistant_versions.c.number == row.revision
    )
    record = (await connection.execute(query)).one_or_none()
    return ("", row.updated_at) if record is None else (record.author, record.saved_at)


def changed_fields(change: Change) -> list[str]:
    """Return the fields of a change under their names in the JSON form."""
    names = (_name(each.name) for each in field_changes(change))
    return sorted({name for name in names if name})


def _name(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    member = name.removeprefix(_METADATA)
    return member if member == name or member in _MEMBERS else f"extra.{member}"


def _version(
    row: Row, action: str, *, changed: Sequence[str] = (), restored: int = 0
) -> dict[str, Any]:
    current = caller()
    return {
        "assistant_id": row.id,
        "number": row.revision,
        "saved_at": int(time.time()),
        "author": current.identity.subject.replace("\0", "") if current.request_id else "",
        "action": action,
        "changed": json.dumps(changed) if changed else "",
        "restored_number": restored,
        "document": snapshot(row),
        "note": "",
    }


def members_of(row: Row) -> Members:
    """Return the fields of an assistant: its columns and the members of its metadata."""
    columns = {name: getattr(row, name) for name in _COLUMNS}
    try:
        document = parse(row.metadata)
    except MalformedMetadataError:
        return columns | {"metadata": row.metadata}
    shown = {name: document.get(member) for member, name in _SHOWN.items()}
    tools = [str(each.get("type", "")) for each in normal(document.get("tools")).bindings]
    members = {f"metadata.{name}": value for name, value in document.items() if name not in _SHOWN}
    return columns | shown | members | {"tools": tools}


def change_of(action: str, before: Row | None, after: Row | None) -> Change:
    """Return the change of an assistant. A deleted row counts as none."""
    row = after or before
    assert row is not None  # noqa: S101 - there is one of them
    return Change(
        f"assistant.{action}",
        str(row.id),
        row.organization,
        None if before is None or before.deleted else members_of(before),
        None if after is None or after.deleted else members_of(after),
    )


def snapshot(row: Row) -> bytes:
    """Return the document of a version of a row."""
    values = ((name, getattr(row, name)) for name in _SNAPSHOT)
    return zlib.compress(
        dump({name: value for name, value in values if value is not None}).encode()
    )


def row_of_snapshot(row: Row, document: bytes) -> Row:
    """Return a row as it was in a version; `row` is what it is now."""
    values = json.loads(zlib.decompress(document))
    values.setdefault("sharing", "")
    return row._replace(**{name: values.get(name) for name in _SNAPSHOT})
