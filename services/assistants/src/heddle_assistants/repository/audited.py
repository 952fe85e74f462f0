"""The fields of an assistant that events of the audit log compare."""

from heddle_conversion import MalformedMetadataError, parse
from heddle_conversion.bindings import normal
from heddle_runtime.contract.audit import Change, Members

from heddle_assistants.database.assistant_row import Row

_SAME_ROW = {"id", "organization", "metadata", "published_at", "created_at", "updated_at"}
_COLUMNS = [name for name in Row._fields if name not in {*_SAME_ROW, "revision", "deleted_at"}]
_SHOWN = {"connector": "connector", "llm": "model", "orchestrator": "strategy"}
"""Members of the metadata that are shown, and their names in events."""


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
