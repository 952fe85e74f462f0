"""What a change in LAMB's database makes of metadata that may have changed in Heddle, too."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from heddle_conversion.bindings import normal, numbered
from heddle_conversion.columns import LegacyColumns, collections_of, top_k_of
from heddle_conversion.errors import MalformedMetadataError, NewerFormatError
from heddle_conversion.json_text import dump, parse, same
from heddle_conversion.merging import MergedMetadata, RowMetadata
from heddle_conversion.unmapped_fields import UNMAPPED_FIELDS
from heddle_conversion.versions import VERSION_KEY, convert_checked

from heddle_migration_service.metadata.legacy_edit import legacy_edit
from heddle_migration_service.metadata.legacy_view import legacy_fields

_TOOLS = "tools"
_NAMES = {"llm": "model.model", "connector": "model.connector"}
"""Members of the metadata, and their names in the JSON form of an assistant."""
_ABSENT = object()


def followed_edit(
    stored: RowMetadata, before: RowMetadata | None, after: RowMetadata
) -> MergedMetadata:
    """Return the metadata of a row after a change in LAMB. Changes no argument.

    Metadata that were only migrated become what a migration of LAMB's new ones is. Others are
    edited as through LAMB's form, with the members that changed in LAMB.

    Args:
        stored: What Heddle stores.
        before: LAMB's metadata when they were applied last, None if that is not known.
        after: LAMB's metadata now.
    """
    if before is not None and stored == before:
        return MergedMetadata(after.text, None, ())
    mine, theirs = _document(stored), _document(after)
    known = None if before is None else _document(before)
    if mine is None or theirs is None:
        is_edited = before is None or stored.text != before.text
        lost = _outermost(_changed(known, mine)) if mine is not None else ("metadata",)
        return MergedMetadata(after.text, None, lost if is_edited and stored != after else ())
    if same(mine, known):
        return MergedMetadata(dump(theirs), theirs, ())
    document = _merged(mine, stored.columns, before, after)
    edits = _changed(known, mine)
    values, results = dict(_fields(mine)), dict(_fields(document))
    lost = _outermost([name for name in edits if not _equal(values, results, name)])
    return MergedMetadata(dump(document), document, lost, is_merged=True)


def _document(metadata: RowMetadata) -> dict[str, Any] | None:
    try:
        return convert_checked(parse(metadata.text), metadata.columns).metadata
    except (MalformedMetadataError, NewerFormatError):
        return None


def _merged(
    mine: dict[str, Any],
    columns: LegacyColumns,
    before: RowMetadata | None,
    after: RowMetadata,
) -> dict[str, Any]:
    was, now = _members(before), parse(after.text)
    body = {key: value for key, value in now.items() if not same(was.get(key, _UNSET), value)}
    body |= dict.fromkeys(was.keys() - now.keys())
    body = {key: value for key, value in body.items() if key not in (VERSION_KEY, _TOOLS)}
    sent = _changed_columns(before, after)
    edited = legacy_edit(mine, columns, body, sent)
    if not same(was.get(_TOOLS), now.get(_TOOLS)):
        edited[_TOOLS] = _merged_tools(edited, was.get(_TOOLS), now.get(_TOOLS))
    return edited


_UNSET = {VERSION_KEY: None}  # no member of LAMB's metadata is like it


def _members(metadata: RowMetadata | None) -> dict[str, Any]:
    try:
        return {} if metadata is None else parse(metadata.text)
    except MalformedMetadataError:
        return {}


def _changed_columns(before: RowMetadata | None, after: RowMetadata) -> LegacyColumns:
    """Return the columns that changed, within the bounds of a migration."""
    top_k = collections = None
    if before is None or before.columns.top_k != after.columns.top_k:
        top_k = top_k_of(after.columns.top_k)[0]
    if before is None or before.columns.collections != after.columns.collections:
        collections = ",".join(collections_of(after.columns.collections)[0])
    return LegacyColumns(top_k, collections)


def _merged_tools(edited: dict[str, Any], was: object, now: object) -> list[dict[str, Any]]:
    """Return the tools without those that LAMB removed from its list, and with those it added."""
    before, after = (normal(tools, exact=False).bindings for tools in (was, now))
    tools = [copy.deepcopy(each) for each in normal(edited.get(_TOOLS)).bindings]
    for binding in before:
        if not _holds(after, binding):
            equal = next((each for each in tools if _is_alike(each, binding)), None)
            tools = [each for each in tools if each is not equal]
    added = [each for each in after if not _holds(before, each) and not _holds(tools, each)]
    return numbered([*tools, *added])


def _holds(bindings: list[dict[str, Any]], binding: dict[str, Any]) -> bool:
    return any(_is_alike(each, binding) for each in bindings)


def _is_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return same({**one, "id": ""}, {**other, "id": ""})


def _changed(known: dict[str, Any] | None, mine: dict[str, Any]) -> list[str]:
    """Return the fields that differ, all of `mine` if nothing is known."""
    before, after = dict(_fields(known or {})), dict(_fields(mine))
    names = after.keys() if known is None else before.keys() | after.keys()
    return sorted(name for name in names if not _equal(before, after, name))


def _outermost(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without the members of what is named itself."""
    return tuple(name for name in names if not any(name.startswith(f"{other}.") for other in names))


def _equal(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
    before, after = one.get(name, _ABSENT), other.get(name, _ABSENT)
    if before is _ABSENT or after is _ABSENT:
        return before is after
    return same(before, after)


def _fields(document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of a document, with the members of each tool on their own."""
    yield from legacy_fields(document).items()
    for key, value in document.items():
        if key not in (VERSION_KEY, _TOOLS, UNMAPPED_FIELDS):
            yield _NAMES.get(key, key), value
    for tool in numbered(normal(document.get(_TOOLS)).bindings):
        path = f"{_TOOLS}[{tool['id']}]"
        yield path, tool["type"]  # a tool that is there on one side only
        for key, value in tool.items():
            if key != "config":
                yield f"{path}.{key}", value
        for key, value in tool["config"].items():
            yield f"{path}.config.{key}", value
