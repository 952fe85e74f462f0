"""Arguments of tool calls, for providers that expect objects instead of JSON texts."""

import msgspec

from heddle_connector.http.tolerant_json import BAD_JSON


def arguments_object(arguments: str) -> msgspec.Raw:
    """Return the JSON text of a call's arguments as an object; an empty one if it is not valid."""
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except BAD_JSON:
        return msgspec.Raw(b"{}")
    return msgspec.Raw(arguments.encode())
