"""Reads the JSON of providers as far as it can be read.

JSON of the expected form costs one call of msgspec. Other JSON is read member by member: a value of
another type is converted, and left out if that is impossible.
"""

import json
from collections.abc import Callable
from typing import Any, Generic, TypeVar, get_args, get_origin

import msgspec
from heddle_runtime.contract.json_text import objects_in, values_in

BAD_JSON = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""The exceptions of decoding text that is not the expected JSON."""
MAX_OBJECTS = 100_000
"""Objects of one answer: an object for each alternative of 4,000 tokens, and more."""
MAX_UNEXPECTED_VALUES = 200_000
"""Values of an answer that has not the expected form."""
_LARGE = 64 * 1024
"""Characters of an answer that may reach a limit."""
ValueT = TypeVar("ValueT")
# Accepts control characters in strings, and reads `NaN` and `Infinity` as null.
_decode = json.JSONDecoder(strict=False, parse_constant=lambda _: None).decode
_TEXT_MEMBERS = ("text", "content", "thinking", "reasoning", "value")


class TolerantDecoder(Generic[ValueT]):
    """Decodes JSON to structs whose fields have default values.

    A struct may have a function `prepare`, which returns the members of an unexpected value.
    """

    def __init__(self, kind: type[ValueT]) -> None:
        self._kind = kind
        self._strict = msgspec.json.Decoder(kind).decode

    def decode(self, payload: bytes | str | msgspec.Raw) -> ValueT:
        """Return the value that `payload` contains. Texts may contain lone surrogates.

        Raises:
            msgspec.ValidationError: It is JSON of another kind, for example not an object.
            msgspec.DecodeError: It is not JSON, or too large to be read.
        """
        if len(payload) > _LARGE and objects_in(_bytes(payload), MAX_OBJECTS) > MAX_OBJECTS:
            message = f"It has more than {MAX_OBJECTS:,} objects."
            raise msgspec.ValidationError(message)
        try:
            return self._strict(payload)
        except BAD_JSON:
            return _fitted(any_json(payload), self._kind)  # type: ignore[no-any-return] # it fits


def any_json(payload: bytes | str | msgspec.Raw) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value. Lone surrogates stay, and bytes that are not UTF-8 become such.

    So `valid_text` can join the bytes of a character that the provider cut.

    Raises:
        msgspec.DecodeError: It is not JSON, nested too deeply, or too large to be read.
    """
    if len(payload) > _LARGE and _has_many_values(payload):
        message = f"It has more than {MAX_UNEXPECTED_VALUES:,} values."
        raise msgspec.DecodeError(message)
    text = payload if isinstance(payload, str) else decoded(bytes(payload))
    try:
        return _decode(text)
    except (ValueError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from None


def _has_many_values(payload: bytes | str | msgspec.Raw) -> bool:
    return values_in(_bytes(payload), MAX_UNEXPECTED_VALUES) > MAX_UNEXPECTED_VALUES


def decoded(text: bytes) -> str:
    """Return a text in UTF-8, with a lone surrogate for each byte that is not UTF-8."""
    return text.decode("utf-8-sig", "surrogateescape")


def _bytes(payload: bytes | str | msgspec.Raw) -> bytes:
    return payload.encode("utf-8", "surrogatepass") if isinstance(payload, str) else bytes(payload)


def as_text(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the text of a value: of a text, of parts of content, or of any other as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(as_text, value))
    if isinstance(value, dict):
        for name in _TEXT_MEMBERS:
            if value.get(name) is not None:
                return as_text(value[name])
        if "type" in value:  # a part without a text, such as a picture
            return ""
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def argument_text(value: bytes) -> str:
    """Return the arguments of a call as text: some servers send a text, others the object."""
    return as_text(any_json(value)) if value.startswith(b'"') else decoded(value)


def _fitted(value: Any, kind: Any) -> Any:  # noqa: ANN401 - any JSON value, and a type of any form
    """Return `value`, which is not null, as an object of the type `kind`.

    Raises:
        ValueError: That is impossible.
    """
    arguments = get_args(kind)
    if type(None) in arguments:
        return _fitted(value, next(each for each in arguments if each is not type(None)))
    if get_origin(kind) is list:
        items = value if isinstance(value, list) else [value]
        return [fitted for item in items for fitted in _if_fitting(item, arguments[0])]
    if get_origin(kind) is dict:
        return {
            name: fitted
            for name, member in _members(value).items()
            for fitted in _if_fitting(member, arguments[1])
        }
    if conversion := _CONVERSIONS.get(kind):
        return conversion(value)
    if issubclass(kind, msgspec.Struct):
        return _struct(value, kind)
    return msgspec.convert(value, kind, strict=False)


def _if_fitting(value: Any, kind: Any) -> list[Any]:  # noqa: ANN401 - as above
    """Return a list with the value as an object of the type `kind`; empty if there is none."""
    try:
        return [] if value is None else [_fitted(value, kind)]
    except (*BAD_JSON, ValueError, TypeError, OverflowError):
        return []


def _struct(value: Any, kind: type[msgspec.Struct]) -> msgspec.Struct:  # noqa: ANN401 - any JSON value
    prepare = getattr(kind, "prepare", _members)
    members = prepare(value)
    fields = {
        field.name: fitted
        for field in msgspec.structs.fields(kind)
        for fitted in _if_fitting(members.get(field.encode_name), field.type)
    }
    return kind(**fields)


def _members(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if not isinstance(value, dict):
        raise msgspec.ValidationError("This is not an object.")
    return value


def _count(value: Any) -> int:  # noqa: ANN401 - any JSON value
    number = float(value)
    if not number.is_integer():
        raise msgspec.ValidationError("This is not a whole number.")
    return int(number)


_CONVERSIONS: dict[Any, Callable[[Any], Any]] = {
    Any: lambda value: value,
    msgspec.Raw: lambda value: msgspec.Raw(json.dumps(value).encode()),
    str: as_text,
    int: _count,
}
