"""The fields that differ between two versions."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from heddle.assistant.v1 import versions_pb2 as pb
from heddle_conversion import convert_row
from heddle_conversion.assistant_json import PUBLISHED_MEMBER, VERSION_MEMBER, write_assistant
from heddle_conversion.json_text import same

from heddle_assistants.database.assistant_row import Row
from heddle_assistants.repository.migrating import Stored
from heddle_assistants.repository.reader import contract

_TOOLS = "tools"
_IMPORTED_COLUMNS = (
    *("rag_endpoint", "rag_top_k", "rag_collections"),
    *("pre_retrieval_endpoint", "post_retrieval_endpoint"),
    *("group_id", "group_name", "oauth_consumer_name"),
)
_ABSENT = object()
_Difference = tuple[str, Any, Any]
MAX_PARTS = 4_000
"""The maximum number of words or lines of a text to compare; the time grows with the square."""
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def differences(before: Row, after: Row) -> list[pb.FieldDifference]:
    """Return the fields that differ between two states of a row.

    Raises:
        MalformedAssistantError: The metadata of one cannot be understood.
        NewerFormatError: The metadata of one are of a newer format.
    """
    return [_message(*each) for each in _of_members(_document(before), _document(after), "")]


def _document(row: Row) -> dict[str, Any]:
    document = convert_row(row.id, row.metadata, row.legacy).metadata
    members = write_assistant(contract(Stored(row, document)))
    del members[VERSION_MEMBER]
    columns = {name: getattr(row, name) for name in _IMPORTED_COLUMNS}
    return {
        **members,
        PUBLISHED_MEMBER: row.published,
        **{name: value for name, value in columns.items() if value is not None},
    }


def _of_members(
    before: Mapping[str, Any], after: Mapping[str, Any], path: str
) -> Iterator[_Difference]:
    for name in [*after, *(name for name in before if name not in after)]:
        one, other = before.get(name, _ABSENT), after.get(name, _ABSENT)
        field = f"{path}.{name}" if path else name
        if field == _TOOLS:
            yield from _of_tools(one, other)
        else:
            yield from _of_values(one, other, field)


def _of_values(before: Any, after: Any, field: str) -> Iterator[_Difference]:  # noqa: ANN401 - JSON
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_members(before, after, field)
    elif before is _ABSENT or after is _ABSENT or not same(before, after):
        yield field, before, after


def _of_tools(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> Iterator[_Difference]:
    old = {tool["id"]: (index, tool) for index, tool in enumerate(before)}
    new = {tool["id"]: (index, tool) for index, tool in enumerate(after)}
    for identifier, (index, tool) in new.items():
        _, former = old.get(identifier, (0, _ABSENT))
        yield from _of_values(former, tool, f"{_TOOLS}[{index}]")
    for identifier, (index, tool) in old.items():
        if identifier not in new:
            yield f"{_TOOLS}[{index}]", tool, _ABSENT
    order = [each for each in old if each in new], [each for each in new if each in old]
    if order[0] != order[1]:
        yield _TOOLS, list(old), list(new)


def _message(field: str, before: object, after: object) -> pb.FieldDifference:
    are_texts = isinstance(before, str) and isinstance(after, str)
    kind = pb.FieldDifference.KIND_CHANGED
    if before is _ABSENT:
        kind = pb.FieldDifference.KIND_ADDED
    elif after is _ABSENT:
        kind = pb.FieldDifference.KIND_REMOVED
    return pb.FieldDifference(
        field=field,
        kind=kind,
        before_json=_json(before),
        after_json=_json(after),
        pieces=text_pieces(before, after) if are_texts else (),  # type: ignore[arg-type] # texts
    )


def _json(value: object) -> str | None:
    return None if value is _ABSENT else json.dumps(value)


def text_pieces(before: str, after: str) -> list[pb.TextPiece]:
    """Return the pieces of two texts: words, or lines or the whole of long texts."""
    parts = _parts(before), _parts(after)
    if any(len(each) > MAX_PARTS for each in parts):
        parts = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if any(len(each) > MAX_PARTS for each in parts):
        parts = [before], [after]
    old, new = parts
    pieces: list[pb.TextPiece] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes():
        if kind == "equal":
            _add(pieces, pb.TextPiece.KIND_EQUAL, old[start:end])
        else:
            _add(pieces, pb.TextPiece.KIND_REMOVED, old[start:end])
            _add(pieces, pb.TextPiece.KIND_ADDED, new[new_start:new_end])
    return pieces


def _parts(text: str) -> list[str]:
    return _WORDS.findall(text)


def _add(
    pieces: list[pb.TextPiece], kind: pb.TextPiece.Kind.ValueType, parts: Sequence[str]
) -> None:
    if parts:
        pieces.append(pb.TextPiece(kind=kind, text="".join(parts)))
