"""Processors of the newest format of version 1, and the tools that do the same.

Documents store these names. Only the contract has the names of tools, so that old clients see
what they wrote.
"""

from collections.abc import Mapping
from typing import Any

LIBRARY = "library:"
"""Begins the path of `single_file` that names an item of a library: `library:<library>/<item>`."""
_MAX_CHARS = 400_000
_TOOLS = {
    "knowledge_store_rag": "simple_rag",
    "query_rewriting_ks_rag": "context_aware_rag",
    "library_file_rag": "single_file",
}
_LIBRARY_FILE = "library_file_rag"


def tool_name(kind: str) -> str:
    """Return the name of the tool for the type of a stored binding."""
    return _TOOLS.get(kind, kind)


def tool_config(kind: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the configuration of the tool for that of a stored binding."""
    if kind != _LIBRARY_FILE:
        return config
    library, item = config.get("library_id"), config.get("item_id")
    if not (_is_identifier(library) and _is_identifier(item)):
        return {}
    return {"file_path": f"{LIBRARY}{library}/{item}", "max_chars": _MAX_CHARS}


def is_library_file(kind: object) -> bool:
    """Return whether the type of a stored binding is the processor for an item of a library."""
    return kind == _LIBRARY_FILE


def _is_identifier(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "/" not in value
