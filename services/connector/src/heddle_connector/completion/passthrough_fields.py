"""Passthrough fields: members of messages and calls that the contract does not model.

Providers may expect them in the next request together with the calls: signatures of the model's
reasoning, for example, or the reasoning itself.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import structlog
from heddle_runtime.contract.unicode_text import json_text

from heddle_connector.http.tolerant_json import TolerantDecoder, any_json

log = structlog.get_logger(__name__)
MAX_FIELDS_BYTES = 1024 * 1024
"""Size of the fields of one message, and of one call."""
_NULL = b"null"
_DEFAULTS = {"type": b'"function"'}
_MESSAGE_FIELDS = frozenset(
    {"role", "content", "refusal", "tool_calls", "function_call", "annotations", "audio"}
)
_CALL_FIELDS = frozenset({"index", "id", "function"})
_STREAMED_TEXTS = ("text", "summary")
Members = Mapping[str, msgspec.Raw]
"""Members of a JSON object, each as JSON text."""


class _Choice(msgspec.Struct, gc=False):
    """An answer, or a piece of one, member by member."""

    delta: dict[str, msgspec.Raw] | None = None
    message: dict[str, msgspec.Raw] | None = None


class _Choices(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None


_decode = TolerantDecoder(_Choices).decode
_decode_calls = TolerantDecoder(list[dict[str, msgspec.Raw]]).decode


def message_members(payload: bytes | str) -> list[Members]:
    """Return the members of each message in a chunk, or in a whole completion."""
    return [each.delta or each.message or {} for each in _decode(payload).choices or ()]


def call_members(message: Members) -> list[Members]:
    """Return the members of each call in a message."""
    calls = bytes(message.get("tool_calls", _NULL))
    return [] if calls == _NULL else [*_decode_calls(calls)]


class PassthroughFields:
    """Collects the unmodelled members of one message or call, chunk by chunk."""

    __slots__ = ("_known", "_pieces", "_size", "_texts_are_streamed")

    def __init__(self, known: Collection[str], *, texts_are_streamed: bool) -> None:
        self._known = known
        self._texts_are_streamed = texts_are_streamed
        self._pieces: dict[str, list[Any]] = {}
        self._size = 0

    @classmethod
    def of_message(cls) -> "PassthroughFields":
        """Return a collector for a message, whose texts arrive in pieces."""
        return cls(_MESSAGE_FIELDS, texts_are_streamed=True)

    @classmethod
    def of_call(cls) -> "PassthroughFields":
        """Return a collector for a call, whose texts arrive whole and sometimes repeatedly."""
        return cls(_CALL_FIELDS, texts_are_streamed=False)

    def take(self, members: Members) -> None:
        """Add the unmodelled members. If they exceed the limit, all are dropped."""
        for name, value in members.items():
            text = bytes(value)
            if name in self._known or text in (_NULL, _DEFAULTS.get(name)):
                continue
            self._size += len(name) + len(text)
            if self._size <= MAX_FIELDS_BYTES:
                self._pieces.setdefault(name, []).append(any_json(text))
        if self._size > MAX_FIELDS_BYTES and self._pieces:
            log.warning("passthrough fields dropped: too large", max_bytes=MAX_FIELDS_BYTES)
            self._pieces.clear()

    def json(self) -> str:
        """Return all fields as the text of one JSON object, an empty string if there are none."""
        if not self._pieces:
            return ""
        fields = {name: self._join(pieces) for name, pieces in self._pieces.items()}
        return json_text(fields)

    def _join(self, pieces: Sequence[Any]) -> Any:  # noqa: ANN401 - any JSON value
        if len(pieces) == 1:
            return pieces[0]
        if self._texts_are_streamed and all(isinstance(piece, str) for piece in pieces):
            return "".join(pieces)
        if all(isinstance(piece, list) for piece in pieces):
            return _join_items([item for piece in pieces for item in piece])
        if all(isinstance(piece, dict) for piece in pieces):
            return {name: value for piece in pieces for name, value in piece.items()}
        return pieces[-1]


def _join_items(items: Sequence[Any]) -> list[Any]:
    """Return the items of a list that arrived in pieces; those of one index and type are joined."""
    groups: list[list[Any]] = []
    for item in items:
        if groups and _continues(groups[-1][-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [group[0] if len(group) == 1 else _join_item(group) for group in groups]


def _continues(item: object, next_item: object) -> bool:
    if not (isinstance(item, dict) and isinstance(next_item, dict)):
        return False
    if "index" not in item or not any(
        name in next_item for name in (*_STREAMED_TEXTS, "signature")
    ):
        return False
    return all(item.get(name) == next_item.get(name) for name in ("index", "type"))


def _join_item(pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for piece in pieces:
        item |= {name: value for name, value in piece.items() if value is not None}
    for name in _STREAMED_TEXTS:
        if texts := [piece[name] for piece in pieces if isinstance(piece.get(name), str)]:
            item[name] = "".join(texts)
    return item
