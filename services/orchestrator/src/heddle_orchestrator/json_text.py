"""Reads JSON texts of tools and models."""

import json
from typing import Any


def members(text: str) -> dict[str, Any]:
    """Return the members of a JSON object, or none if the text is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
