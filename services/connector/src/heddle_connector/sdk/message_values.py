"""Values of OpenAI's messages and options, for providers that expect them in another form."""

from collections.abc import Mapping
from typing import Any

import msgspec

from heddle_connector.http.tolerant_json import BAD_JSON


def arguments_object(arguments: str) -> msgspec.Raw:
    """Return the JSON text of a call's arguments as an object; an empty one if it is not valid."""
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except BAD_JSON:
        return msgspec.Raw(b"{}")
    return msgspec.Raw(arguments.encode())


def inline_data(url: str) -> tuple[str, str] | None:
    """Return the media type and the base64 of a `data:` URL; None for any other address."""
    head, comma, data = url.partition(";base64,")
    if not comma or not head.startswith("data:"):
        return None
    return head.removeprefix("data:"), data


def option(extra: Mapping[str, msgspec.Raw], name: str) -> Any:
    """Return a member of the client's request, None if there is none."""
    return msgspec.json.decode(extra[name]) if name in extra else None
