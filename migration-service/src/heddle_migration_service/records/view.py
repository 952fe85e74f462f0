"""Rows as records, and records of requests as rows."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from heddle.assistant.v1 import rows_pb2
from heddle.migration.v1 import record_pb2 as pb
from heddle_conversion import LegacyColumns, dump, newest, parse, version_of
from heddle_conversion.identifiers import timestamp
from heddle_runtime.errors import (
    InvalidRequestError,
    MalformedAssistantError,
    NewerFormatError,
    Violation,
)

from heddle_migration_service.metadata.legacy_view import legacy_columns, legacy_view

_COLUMNS = (
    *("name", "description", "system_prompt", "prompt_template", "rag_collections"),
    *("rag_endpoint", "pre_retrieval_endpoint", "post_retrieval_endpoint"),
)
_SHARED = ("id", "organization", "owner", "published", *_COLUMNS)
_GROUP = ("group_id", "group_name", "oauth_consumer_name")
_MAX_DIGITS = 18


def columns_of_row(row: rows_pb2.AssistantRow) -> LegacyColumns:
    """Return the columns that held a part of the configuration before version 2."""
    top_k = json.loads(row.rag_top_k_json) if row.HasField("rag_top_k_json") else None
    collections = row.rag_collections if row.HasField("rag_collections") else None
    return LegacyColumns(top_k, collections)


def record_of_row(row: rows_pb2.AssistantRow) -> pb.Record:
    """Return a row as a record: with the keys of both formats if it is of the newest one."""
    present = {field.name for field, _ in row.ListFields()}
    record = pb.Record(
        **{name: getattr(row, name) for name in _SHARED if name in present},
        **{name: getattr(row, name) for name in _GROUP},
        create_time=timestamp(row.created_at),
        update_time=timestamp(row.updated_at),
        publish_time=timestamp(row.published_at),
    )
    columns = columns_of_row(row)
    if "metadata" in present:
        record.metadata_json = row.metadata
    try:
        document = parse(row.metadata)
        if version_of(document) == newest():
            record.metadata_json = dump(legacy_view(document))
            columns = legacy_columns(document, columns)
    except MalformedAssistantError:
        pass
    if columns.top_k is not None:
        record.rag_top_k = str(columns.top_k)
    if columns.collections is not None:
        record.rag_collections = columns.collections
    return record


def metadata_of_request(record: pb.Record) -> dict[str, Any] | None:
    """Return the metadata that a request carries, None if it carries none.

    Raises:
        InvalidRequestError: It is not the text of an object.
    """
    if not record.HasField("metadata_json"):
        return None
    with wrong_metadata():
        return parse(record.metadata_json)


def columns_of_request(record: pb.Record) -> rows_pb2.AssistantRow:
    """Return the columns that a request sets, without the owner and the metadata."""
    present = {field.name for field, _ in record.ListFields()}
    row = rows_pb2.AssistantRow(
        **{name: getattr(record, name) for name in _COLUMNS if name in present}
    )
    if "rag_top_k" in present:
        row.rag_top_k_json = json.dumps(_number(record.rag_top_k))
    return row


def changed_columns(
    columns: rows_pb2.AssistantRow, stored: rows_pb2.AssistantRow, document: dict[str, Any]
) -> rows_pb2.AssistantRow:
    """Return the columns of a request without those that come back as they were shown.

    What is shown is what the tool of the newest format says. The column itself stays what it was
    before the migration.

    Args:
        columns: Of the request.
        stored: What is stored.
        document: The stored metadata, of the newest format.
    """
    shown = legacy_columns(document, columns_of_row(stored))
    changed = rows_pb2.AssistantRow()
    changed.CopyFrom(columns)
    sent = columns_of_row(columns)
    if sent.collections == shown.collections:
        changed.ClearField("rag_collections")
    if sent.top_k is not None and shown.top_k is not None and str(sent.top_k) == str(shown.top_k):
        changed.ClearField("rag_top_k_json")
    return changed


@contextmanager
def wrong_metadata() -> Iterator[None]:
    """Turn errors about metadata into errors about the request."""
    try:
        yield
    except (MalformedAssistantError, NewerFormatError) as error:
        what = error.violations[0].description
        violation = Violation("record.metadata_json", what)
        raise InvalidRequestError(f"The metadata {what}.", [violation]) from None


def _number(text: str) -> int | str:
    """Return the whole number that a text is, if it is one and no more."""
    digits = text.removeprefix("-")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS
    return int(text) if is_number and str(int(text)) == text else text
