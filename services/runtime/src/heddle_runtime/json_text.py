"""Reads JSON texts of other services, tools and models."""

from typing import Any

import msgspec


def members(text: str) -> dict[str, Any]:
    """Return the members of a JSON object, or none if the text is not one."""
    if not text:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}
