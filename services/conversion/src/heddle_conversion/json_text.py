"""The text of stored metadata, and the objects that such a text can hold."""

import json
import math
from collections.abc import Iterable
from typing import Any

from heddle_runtime.contract.limits import MAX_JSON_DEPTH

from heddle_conversion.errors import MalformedMetadataError

_MAX_DIGITS = 4_300  # Python neither reads nor writes more
_TOO_LARGE = 10**_MAX_DIGITS
_DEEP = f"is nested more than {MAX_JSON_DEPTH} levels deep"
_LONG = f"holds a number of more than {_MAX_DIGITS:,} digits"


def parse(text: str | None) -> dict[str, Any]:
    """Return the object that `text` holds; an empty one for nothing, blanks or `null`.

    Raises:
        MalformedMetadataError: The text is something else.
    """
    if text is None or not text.strip():
        return {}
    try:
        value = json.loads(text)
    except RecursionError:
        raise MalformedMetadataError(_DEEP) from None
    except json.JSONDecodeError as error:
        what = f"is not JSON: {error.msg} at character {error.pos}"
        raise MalformedMetadataError(what) from None
    except ValueError:
        raise MalformedMetadataError(_LONG) from None
    return {} if value is None else checked(value)


def dump(value: object) -> str:
    """Return the text of a value. Equal objects have equal texts; lone surrogates survive."""
    return json.dumps(value, allow_nan=False, sort_keys=True)


def same(one: object, other: object) -> bool:
    """Return whether two JSON values have one text; 1, 1.0 and true are three values."""
    return dump(one) == dump(other)


def checked(value: object) -> dict[str, Any]:
    """Return `value` if it is an object that JSON can write.

    Raises:
        MalformedMetadataError: It is not.
    """
    if not isinstance(value, dict):
        raise MalformedMetadataError("is not a JSON object")
    level: list[object] = [value]
    for _ in range(MAX_JSON_DEPTH + 1):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return value
    raise MalformedMetadataError(_DEEP)


def _inside(value: object) -> Iterable[object]:
    match value:
        case dict():
            if not all(isinstance(key, str) for key in value):
                raise MalformedMetadataError("has a member whose name is not a text")
            return value.values()
        case list():
            return value
        case float() if not math.isfinite(value):
            raise MalformedMetadataError("holds a number that JSON cannot write")
        case int() if abs(value) >= _TOO_LARGE:
            raise MalformedMetadataError(_LONG)
        case None | str() | int() | float():
            return ()
        case _:
            raise MalformedMetadataError("holds something that JSON cannot write")
