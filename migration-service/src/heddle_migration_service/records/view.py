"""Rows as records, and what a record says of a row."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from heddle.migration.v1 import record_pb2 as pb
from heddle_runtime.errors import (
    InvalidRequestError,
    MalformedAssistantError,
    NewerFormatError,
    Violation,
)

from heddle_migration_service.conversion import (
    LegacyColumns,
    dump,
    from_contract,
    legacy_columns,
    legacy_view,
    newest,
    parse,
    version_of,
)
from heddle_migration_service.kept.migrating import Stored
from heddle_migration_service.kept.row import Row, timestamp
from heddle_migration_service.store import Kept
from heddle_migration_service.texts import NO_USER, may_be_user, refuse_nul

_COLUMNS = ("name", "description", "system_prompt", "prompt_template", "rag_collections")
_ENDPOINTS = ("rag_endpoint", "pre_retrieval_endpoint", "post_retrieval_endpoint")


def record_of_stored(stored: Stored) -> pb.Record:
    """Return an assistant with the keys of both formats."""
    columns = legacy_columns(stored.document, stored.row.legacy)
    return _record(stored.row, dump(legacy_view(stored.document)), columns)


def record_of_row(row: Row) -> pb.Record:
    """Return an assistant in the format that it is kept in, whatever that is."""
    try:
        document = parse(row.metadata)
        known = version_of(document) == newest()
    except MalformedAssistantError:
        document, known = {}, False
    if known:
        return record_of_stored(Stored(row, document))
    return _record(row, row.metadata, row.legacy)


def record_of_kept(kept: Kept) -> pb.Record:
    """Return an assistant of the folder."""
    found = kept.assistant
    document = from_contract(found)
    columns = legacy_columns(document, LegacyColumns())
    return pb.Record(
        id=found.id,
        name=found.name,
        description=found.description,
        owner=found.owner,
        organization=found.organization,
        system_prompt=found.system_prompt,
        prompt_template=found.prompt_template,
        metadata_json=dump(legacy_view(document)),
        rag_top_k=_text(columns.top_k),
        rag_collections=columns.collections,
        published=kept.published,
        create_time=found.create_time,
    )


def metadata_of_request(record: pb.Record) -> dict[str, Any] | None:
    """Return the metadata that a request carries, None if it carries none.

    Raises:
        InvalidRequestError: It is not the text of an object.
    """
    if not record.HasField("metadata_json"):
        return None
    with wrong_metadata():
        return parse(record.metadata_json)


def columns_of_request(record: pb.Record, stored: Stored | None = None) -> dict[str, Any]:
    """Return the columns that a request tells; `stored` is what is kept, if anything is.

    Only what is new gets an owner, whom an edit leaves as he is.

    A column that comes back as it was shown is not told: what was shown is what the tool says by
    now, and the column stays what it was before the migration.

    Raises:
        InvalidRequestError: One cannot be kept.
    """
    told = {field.name: value for field, value in record.ListFields()}
    if stored is not None:
        shown = legacy_columns(stored.document, stored.row.legacy)
        as_shown = {"rag_top_k": _text(shown.top_k), "rag_collections": shown.collections}
        told = {name: value for name, value in told.items() if as_shown.get(name) != value}
    columns = {name: told[name] for name in (*_COLUMNS, *_ENDPOINTS) if name in told}
    if stored is None:
        columns["owner"] = record.owner
        if not may_be_user(record.owner):
            violation = Violation("record.owner", NO_USER)
            raise InvalidRequestError("The record is not valid.", [violation])
    if "rag_top_k" in told:
        columns["rag_top_k"] = _number(record.rag_top_k)
    refuse_nul(columns, "record.")
    return columns


def legacy_of_request(columns: dict[str, Any]) -> LegacyColumns:
    """Return the columns that told a part of the configuration before version 2."""
    return LegacyColumns(columns.get("rag_top_k"), columns.get("rag_collections"))


@contextmanager
def wrong_metadata() -> Iterator[None]:
    """Tell callers what is wrong with the metadata that they sent."""
    try:
        yield
    except (MalformedAssistantError, NewerFormatError) as error:
        what = error.violations[0].description
        violation = Violation("record.metadata_json", what)
        raise InvalidRequestError(f"The metadata {what}.", [violation]) from None


def _record(row: Row, metadata: str | None, columns: LegacyColumns) -> pb.Record:
    return pb.Record(
        id=str(row.id),
        name=row.name,
        description=row.description,
        owner=row.owner,
        organization=row.organization,
        system_prompt=row.system_prompt,
        prompt_template=row.prompt_template,
        metadata_json=metadata,
        rag_top_k=_text(columns.top_k),
        rag_collections=columns.collections,
        rag_endpoint=row.rag_endpoint,
        pre_retrieval_endpoint=row.pre_retrieval_endpoint,
        post_retrieval_endpoint=row.post_retrieval_endpoint,
        published=row.published,
        group_id=row.group_id or "",
        group_name=row.group_name or "",
        oauth_consumer_name=row.oauth_consumer_name or "",
        create_time=timestamp(row.created_at),
        update_time=timestamp(row.updated_at),
        publish_time=timestamp(row.published_at),
    )


def _text(top_k: object) -> str | None:
    return None if top_k is None else str(top_k)


def _number(told: str) -> int | str:
    """Return the whole number that a text is, if it is one and no more."""
    digits = told.removeprefix("-")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) < len("9" * 19)
    return int(told) if is_number and str(int(told)) == told else told
