"""JSON of clients: parsed strictly, with access to the exact text of each part."""

import json
from collections.abc import Collection, Iterable
from functools import reduce
from typing import Any, NoReturn

import msgspec
from heddle_runtime.contract.json_text import values_in
from heddle_runtime.contract.unicode_text import valid_json
from heddle_runtime.errors import InvalidRequestError, Violation

MAX_BODY_VALUES = 200_000
_MAX_SURROGATES = 100_000
_COLON_ESCAPE = b"\\u003"
_decode = msgspec.json.decode
_encode = msgspec.json.encode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw])


class _AmbiguousError(ValueError):
    pass


def path_text(steps: Iterable[str | int]) -> str:
    """Return a path as OpenAI writes it, for example `messages[0].content`."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return "".join(parts).removeprefix(".")


class NotJsonError(InvalidRequestError):
    """The body is not JSON."""


class Place:
    """A place in JSON text, with access to the exact text there. It need not exist."""

    __slots__ = ("_parent", "_split", "_step", "_text")

    def __init__(
        self,
        text: "str | bytes | msgspec.Raw | None",
        parent: "Place | None" = None,
        step: str | int = "",
    ) -> None:
        """Take the text, or a place and the step from it to this one."""
        self._text = text
        self._parent = parent
        self._step = step
        self._split: Any = None  # the members, or the items, as they were written

    def __truediv__(self, step: str | int) -> "Place":
        return Place(None, self, step)

    def at(self, *steps: str | int) -> "Place":
        """Return a place below this one."""
        return reduce(Place.__truediv__, steps, self)

    def __str__(self) -> str:
        """Return the path of the place."""
        steps: list[str | int] = []
        place = self
        while place._parent is not None:
            steps.append(place._step)
            place = place._parent
        return path_text(reversed(steps))

    def text(self) -> str:
        """Return the exact text of the value."""
        text = self._exact()
        return text if isinstance(text, str) else bytes(text).decode()

    def members(self, names: Collection[str]) -> str:
        """Return the members of these names as JSON text; an empty string if there are no names."""
        if not names:
            return ""
        return _encode({name: self.part(name) for name in names}).decode()

    def invalid(self, reason: str) -> InvalidRequestError:
        """Return the error for an invalid value at this place."""
        path = str(self)
        return InvalidRequestError(f"{path or 'The body'} {reason}.", [Violation(path, reason)])

    def _exact(self) -> "str | bytes | msgspec.Raw":
        if self._text is None:
            assert self._parent is not None  # noqa: S101 - the root has a text
            self._text = self._parent.part(self._step)
        return self._text

    def part(self, step: str | int) -> msgspec.Raw:
        """Return the exact text of a member of an object, or of an item of an array."""
        if self._split is None:
            kind = _members if isinstance(step, str) else _items
            self._split = kind.decode(self._exact())
        part: msgspec.Raw = self._split[step]
        return part


def parse(body: bytes) -> tuple[dict[str, Any], Place]:
    """Return the members of a JSON object, and the place of the same object as text.

    Stricter than `json.loads`: text that two parsers could read differently is rejected. Lone
    surrogates, which clients produce by cutting text, become U+FFFD.

    Raises:
        InvalidRequestError: The body is not one well-formed JSON object, or too large a one.
    """
    check_values(body)
    try:
        value = _decode(body)
        if isinstance(value, dict) and _is_complete(value, body):
            return value, Place(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass  # the strict parser finds the error, if there is one
    return _parse_strictly(body)


def check_values(body: bytes) -> None:
    """Refuse a body that would be parsed for a second, in which no other request is answered.

    Raises:
        InvalidRequestError: It has too many values.
    """
    # A value has a byte at least, so that a short body needs no count.
    if len(body) > MAX_BODY_VALUES and values_in(body, MAX_BODY_VALUES) > MAX_BODY_VALUES:
        raise InvalidRequestError(f"The body has more than {MAX_BODY_VALUES:,} values.")


def _is_complete(value: object, body: bytes) -> bool:
    """Return whether `value` has all members of `body`.

    A decoder drops all but the last of several members of one name. Then the encoded value has
    fewer colons. Colons in strings are the same in both, unless one is written as an escape.
    """
    if b"\\" in body and _COLON_ESCAPE in body:
        return False
    return _encode(value).count(b":") == body.count(b":")


def _parse_strictly(body: bytes) -> tuple[dict[str, Any], Place]:
    """Parse like `parse`, ten times as slowly, a body that may be invalid."""
    if body.count(b"\\ud") + body.count(b"\\uD") > _MAX_SURROGATES:
        raise InvalidRequestError(f"The body has more than {_MAX_SURROGATES:,} lone surrogates.")
    try:
        text = valid_json(body.decode())
        value = _strict.decode(text)
    except _AmbiguousError as error:
        raise InvalidRequestError(f"The body is not valid JSON: {error}.") from None
    except json.JSONDecodeError as error:
        raise NotJsonError(
            f"The body is not valid JSON: {error.msg} at character {error.pos}."
        ) from None
    except RecursionError:
        raise InvalidRequestError("The body is nested too deeply.") from None
    except ValueError:  # not UTF-8, or a number of thousands of digits
        raise NotJsonError("The body is not valid JSON in UTF-8.") from None
    if not isinstance(value, dict):
        raise InvalidRequestError("The body must be a JSON object.")
    return value, Place(text)


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(members)
    if len(unique) != len(members):
        raise _AmbiguousError("an object has two members of the same name")
    return unique


def _no_constant(name: str) -> NoReturn:
    message = f"{name} is not JSON"
    raise _AmbiguousError(message)


_strict = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)
