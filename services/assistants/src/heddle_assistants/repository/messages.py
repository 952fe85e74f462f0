"""Converts between rows of the database and messages."""

import json
from typing import Any

from google.protobuf.message import Message
from heddle.assistant.v1 import rows_pb2 as pb
from heddle_conversion import dump, from_contract
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_assistants.database.assistant_row import Row
from heddle_assistants.repository.migrating import Stored
from heddle_assistants.store import StoredAssistant

_TOP_K = "rag_top_k_json"
_OTHERS = ("id", "organization", "metadata", _TOP_K)
_OUTLINE = {
    *("id", "organization", "name", "description", "owner"),
    *("published", "published_at", "created_at", "updated_at"),
}
_COLUMNS = tuple(
    field.name for field in pb.AssistantRow.DESCRIPTOR.fields if field.name not in _OTHERS
)


def row_message(row: Row, metadata: str | None) -> pb.AssistantRow:
    """Return a row with its metadata."""
    return pb.AssistantRow(
        id=str(row.id),
        organization=row.organization,
        metadata=metadata,
        rag_top_k_json=None if row.rag_top_k is None else json.dumps(row.rag_top_k),
        **{name: getattr(row, name) for name in _COLUMNS},
    )


def stored_message(stored: Stored) -> pb.AssistantRow:
    """Return a row with its metadata in the newest format."""
    return row_message(stored.row, dump(stored.document))


def folder_message(stored: StoredAssistant) -> pb.AssistantRow:
    """Return an assistant of the folder as if it were a row."""
    assistant = stored.assistant
    return pb.AssistantRow(
        id=assistant.id,
        organization=assistant.organization,
        name=assistant.name,
        description=assistant.description,
        owner=assistant.owner,
        metadata=dump(from_contract(assistant)),
        system_prompt=assistant.system_prompt,
        prompt_template=assistant.prompt_template,
        published=stored.published,
        created_at=assistant.create_time.seconds,
    )


def outline_row(row: pb.AssistantRow) -> None:
    """Remove the fields that callers may not read if they may only use the assistant."""
    for name in {field.name for field, _ in row.ListFields()} - _OUTLINE:
        row.ClearField(name)  # type: ignore[arg-type] # names of fields


def read_top_k(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of the column `rag_top_k`.

    Raises:
        InvalidRequestError: The text is not JSON, or is nested too deep.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        violation = Violation(f"row.{_TOP_K}", "is not JSON")
        raise InvalidRequestError("The row is not valid.", [violation]) from None


def column_values(message: Message) -> dict[str, Any]:
    """Return the columns that a message sets, by name; None for optional ones that it does not.

    Raises:
        InvalidRequestError: The column `rag_top_k` is not JSON.
    """
    values = {
        field.name: getattr(message, field.name)
        if not field.has_presence or message.HasField(field.name)
        else None
        for field in message.DESCRIPTOR.fields
    }
    if _TOP_K in values:
        text = values.pop(_TOP_K)
        values["rag_top_k"] = None if text is None else read_top_k(text)
    return values
