"""The metadata of a request to LAMB's interface, which has two names and two forms there."""

from collections.abc import Mapping
from typing import Any

from heddle_conversion.errors import MalformedMetadataError
from heddle_conversion.json_text import checked, parse

_NAMES = ("metadata", "api_callback")  # the first one counts


def metadata_of(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the metadata that a request carries, None if it carries none.

    Raises:
        MalformedMetadataError: It is neither an object nor the text of one.
    """
    value = next((body[name] for name in _NAMES if body.get(name) is not None), None)
    match value:
        case None:
            return None
        case str():
            return parse(value)
        case dict():
            return checked(value)
        case _:
            raise MalformedMetadataError("is neither a JSON object nor the text of one")
