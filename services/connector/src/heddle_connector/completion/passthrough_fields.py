"""What providers put into messages and calls beside what the contract models.

They may want to read it again with the calls: signatures of what the model thought, for example, or
the thought itself.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import structlog

log = structlog.get_logger(__name__)
LARGEST = 1024 * 1024
"""Bytes that are kept of one message, and of one call."""
_NULL = b"null"
_USUAL = {"type": b'"function"'}
_MESSAGE = frozenset(
    {"role", "content", "refusal", "tool_calls", "function_call", "annotations", "audio"}
)
_CALL = frozenset({"index", "id", "function"})
_IN_PIECES = ("text", "summary")
Members = Mapping[str, msgspec.Raw]
"""Members of a JSON object, each as JSON text."""


class _Choice(msgspec.Struct, gc=False):
    """An answer, or a piece of one, member by member."""

    delta: dict[str, msgspec.Raw] | None = None
    message: dict[str, msgspec.Raw] | None = None


class _Choices(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None


_decode = msgspec.json.Decoder(_Choices).decode
_calls = msgspec.json.Decoder(list[dict[str, msgspec.Raw]] | None).decode


def message_members(payload: bytes | str) -> list[Members]:
    """Return the members of each message in a chunk, or in a whole completion."""
    return [each.delta or each.message or {} for each in _decode(payload).choices or ()]


def call_members(message: Members) -> list[Members]:
    """Return the members of each call in a message."""
    return list(_calls(message["tool_calls"]) or ()) if "tool_calls" in message else []


class Extras:
    """Collects the unknown members of one message or call, piece by piece."""

    __slots__ = ("_known", "_pieces", "_size", "_words")

    def __init__(self, known: Collection[str], *, words: bool) -> None:
        self._known = known
        self._words = words
        self._pieces: dict[str, list[Any]] = {}
        self._size = 0

    @classmethod
    def of_message(cls) -> "Extras":
        """Return what collects those of a message, whose texts come in pieces."""
        return cls(_MESSAGE, words=True)

    @classmethod
    def of_call(cls) -> "Extras":
        """Return what collects those of a call, whose texts come whole, some more than once."""
        return cls(_CALL, words=False)

    def take(self, members: Members) -> None:
        """Add what is unknown of some members. Of more than the limit nothing is kept."""
        for name, value in members.items():
            text = bytes(value)
            if name in self._known or text in (_NULL, _USUAL.get(name)):
                continue
            self._size += len(name) + len(text)
            if self._size <= LARGEST:
                self._pieces.setdefault(name, []).append(msgspec.json.decode(text))
        if self._size > LARGEST and self._pieces:
            log.warning("what a provider adds to its answer is too large to be kept")
            self._pieces.clear()

    def json(self) -> str:
        """Return everything as the text of one JSON object, an empty string if there is nothing."""
        if not self._pieces:
            return ""
        whole = {name: self._joined(pieces) for name, pieces in self._pieces.items()}
        return msgspec.json.encode(whole).decode()

    def _joined(self, pieces: Sequence[Any]) -> Any:  # noqa: ANN401 - any JSON value
        if len(pieces) == 1:
            return pieces[0]
        if self._words and all(isinstance(piece, str) for piece in pieces):
            return "".join(pieces)
        if all(isinstance(piece, list) for piece in pieces):
            return _items([item for piece in pieces for item in piece])
        if all(isinstance(piece, dict) for piece in pieces):
            return {name: value for piece in pieces for name, value in piece.items()}
        return pieces[-1]


def _items(items: Sequence[Any]) -> list[Any]:
    """Return the items of a list that came in pieces, those of one index and type as one."""
    groups: list[list[Any]] = []
    for item in items:
        if groups and _goes_on(groups[-1][-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [group[0] if len(group) == 1 else _item(group) for group in groups]


def _goes_on(item: object, following: object) -> bool:
    if not (isinstance(item, dict) and isinstance(following, dict)):
        return False
    if "index" not in item or not any(name in following for name in (*_IN_PIECES, "signature")):
        return False
    return all(item.get(name) == following.get(name) for name in ("index", "type"))


def _item(pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for piece in pieces:
        whole |= {name: value for name, value in piece.items() if value is not None}
    for name in _IN_PIECES:
        if texts := [piece[name] for piece in pieces if isinstance(piece.get(name), str)]:
            whole[name] = "".join(texts)
    return whole
