"""What an edit by one of LAMB's clients makes of a document of version 2.

Such a client sends back what `legacy_view` and `legacy_columns` showed it, some of it changed.
Only what differs from that is an edit: everything the client never understood stays.
"""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heddle_conversion.bindings import normal, numbered
from heddle_conversion.columns import LegacyColumns, collections_of, exact_top_k
from heddle_conversion.contract_tools import overlaid
from heddle_conversion.errors import NewerFormatError
from heddle_conversion.json_text import checked, same
from heddle_conversion.processors import (
    DOCUMENT,
    LEGACY_KEYS,
    document_binding,
    processor_binding,
)
from heddle_conversion.unmapped_fields import UNMAPPED_FIELDS, set_aside, unmapped_fields
from heddle_conversion.versions import VERSION_KEY, convert, newest, version_of

from heddle_migration_service.metadata.legacy_view import (
    legacy_binding,
    legacy_columns,
    legacy_fields,
    legacy_view,
)

_LIBRARY_KEYS = ("library_id", "item_id")
_DOCUMENT_KEYS = ("document_rag", *_LIBRARY_KEYS)


def legacy_edit(
    stored: dict[str, Any],
    stored_columns: LegacyColumns,
    body: dict[str, Any] | None,
    body_columns: LegacyColumns,
) -> dict[str, Any]:
    """Return the new metadata. Changes no argument.

    A member that the body lacks stays, one that is null is removed. A changed list of tools
    counts before the old keys, unless it is LAMB's list of function names, which says nothing
    about the processor.

    Args:
        stored: The document of version 2.
        stored_columns: The row's columns, as stored.
        body: The metadata of the request, None if it has none.
        body_columns: What the request says of the columns.

    Raises:
        MalformedMetadataError: The body is not an object that JSON can write.
        NewerFormatError: The body is of a version that this release does not know.
    """
    sent = checked({} if body is None else body)
    if version_of(sent) > newest():
        raise NewerFormatError(version_of(sent), newest())
    view = legacy_view(stored)
    changed = {
        key: copy.deepcopy(value)
        for key, value in sent.items()
        if key != VERSION_KEY and not (key in view and same(value, view[key]))
    }
    edited = copy.deepcopy(stored)
    for key in changed.keys() - {*LEGACY_KEYS, "tools"}:
        edited[key] = changed[key]
        if changed[key] is None:
            del edited[key]
    if "tools" in changed:
        _replace_tools(edited, changed["tools"])
        if not _names_functions(changed["tools"]):
            return edited
    columns = replace(legacy_columns(stored, stored_columns), exact=True)
    edited_columns = _edited_columns(columns, body_columns)
    if edited_columns != columns or changed.keys() & {*LEGACY_KEYS, *_LIBRARY_KEYS}:
        _replace_processor(stored, edited, changed, columns, edited_columns)
    if changed.keys() & set(_DOCUMENT_KEYS):
        _replace_document(stored, edited)
    return edited


def legacy_new(body: dict[str, Any] | None, columns: LegacyColumns) -> dict[str, Any]:
    """Return the metadata of an assistant that a client makes, or brings from an export.

    An export holds what `legacy_view` showed: the tools, and the old keys, which only repeat them.

    Raises:
        MalformedMetadataError: The body is not an object that JSON can write.
        NewerFormatError: The body is of a version that this release does not know.
    """
    metadata = convert({} if body is None else body, columns).metadata
    return {key: value for key, value in metadata.items() if key not in LEGACY_KEYS}


def _edited_columns(shown: LegacyColumns, sent: LegacyColumns) -> LegacyColumns:
    """Return what the columns say now; what means the same is not a change."""
    top_k, collections = shown.top_k, shown.collections
    if sent.top_k is not None and exact_top_k(sent.top_k) != exact_top_k(top_k):
        top_k = sent.top_k
    named = collections_of(sent.collections, exact=True)[0]
    if sent.collections is not None and named != collections_of(collections, exact=True)[0]:
        collections = sent.collections
    return LegacyColumns(top_k, collections, exact=True)


def _names_functions(tools: object) -> bool:
    return isinstance(tools, list) and any(isinstance(entry, str) for entry in tools)


def _replace_tools(edited: dict[str, Any], tools: object) -> None:
    """Put other tools into a document; a list of functions leaves the processor where it is."""
    normalized = normal(tools)
    bindings = normalized.bindings
    processor = legacy_binding(_bindings(edited))
    if _names_functions(tools) and processor is not None and legacy_binding(bindings) is None:
        bindings = [processor, *bindings]
    edited["tools"] = numbered(bindings)
    set_aside(edited, normalized.unmapped)


def _replace_processor(
    stored: dict[str, Any],
    edited: dict[str, Any],
    changed: Mapping[str, Any],
    shown: LegacyColumns,
    edited_columns: LegacyColumns,
) -> None:
    """Let the one binding that an old client knows say what the old keys say now."""
    was = legacy_fields(stored)
    now = was | {key: changed[key] for key in LEGACY_KEYS if key in changed}
    before = processor_binding(was | _library(stored), shown)
    after = processor_binding(now | _library(edited), edited_columns)
    bindings = _bindings(edited)
    old, new = legacy_binding(bindings), after.binding
    if old and new and ("rag_processor" not in changed or old["type"] == new["type"]):
        known = before.binding["config"] if before.binding else {}
        new = {**old, "config": overlaid(old["config"], known, new["config"])}
    if old is None and new is not None:
        edited.setdefault("cite_sources", True)  # as after a conversion
        bindings = [new, *bindings]
    elif old is not None:
        replaced_bindings = (new if binding is old else binding for binding in bindings)
        bindings = [binding for binding in replaced_bindings if binding is not None]
    edited["tools"] = numbered(bindings)
    _replace_unmapped(edited, after.unmapped, changed)


def _replace_unmapped(
    edited: dict[str, Any], unmapped: Mapping[str, Any], changed: Mapping[str, Any]
) -> None:
    fields = unmapped_fields(edited)
    spoken = {*LEGACY_KEYS[1:], *(changed.keys() & {LEGACY_KEYS[0]})}
    fields = {key: value for key, value in fields.items() if key not in spoken} | dict(unmapped)
    if fields:
        edited[UNMAPPED_FIELDS] = fields
    elif UNMAPPED_FIELDS in edited:
        del edited[UNMAPPED_FIELDS]


def _replace_document(stored: dict[str, Any], edited: dict[str, Any]) -> None:
    """Let the binding of the reference document say what its keys say now."""
    was, _ = document_binding(stored)
    new, _ = document_binding(edited)
    bindings = [
        binding
        for binding in _bindings(edited)
        if was is None or (binding["type"], binding.get("slot")) != (was["type"], DOCUMENT)
    ]
    edited["tools"] = numbered(bindings if new is None else [*bindings, new])


def _library(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: metadata[key] for key in _LIBRARY_KEYS if key in metadata}


def _bindings(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    return numbered(normal(metadata.get("tools")).bindings)
