"""The one processor of an assistant of version 1, and the binding that does the same."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heddle_conversion.columns import (
    LegacyColumns,
    Notes,
    collections_of,
    exact_top_k,
    top_k_of,
)
from heddle_conversion.json_text import same

LEGACY_KEYS = ("rag_processor", "rubric_id", "rubric_format", "file_path")
MEMBERS = {"rubric_id": "rubric_id", "format": "rubric_format", "file_path": "file_path"}
"""The old key behind a member of a tool's configuration."""
NO_PROCESSOR = "no_rag"
CONTEXT = "context"
"""The slot of what the processor found, whichever it was: an old template has no other."""
DOCUMENT = "document"
"""The slot of a reference document, which was beside the template."""
KNOWLEDGE = frozenset(
    {
        *("simple_rag", "context_aware_rag", "hierarchical_rag"),
        *("knowledge_store_rag", "query_rewriting_ks_rag"),
    }
)
RENAMED = {"rubric_rag": "rubric", "single_file_rag": "single_file"}
_OLD_NAMES = {tool: processor for processor, tool in RENAMED.items()}
_LIBRARY_FILE = "library_file_rag"
_OURS = frozenset({*KNOWLEDGE, *RENAMED.values(), _LIBRARY_FILE})
_KNOWN = frozenset({*KNOWLEDGE, *RENAMED, *RENAMED.values(), _LIBRARY_FILE})
_LIBRARY_NOTE = "Its document is at LAMB's library server: set HEDDLE_TOOLS_LIBRARY_URL."
_FORMATS = ("markdown", "json")
_CONNECTORS = {"openai_tools": "openai"}


@dataclass(frozen=True, slots=True)
class Converted:
    """The result of converting the old keys."""

    binding: dict[str, Any] | None
    """The binding without an id, or None if there is no processor."""
    unmapped: dict[str, Any]
    """The old keys whose values say something that the binding does not."""
    notes: Notes


def tool_of(processor: str) -> str:
    """Return the tool that a processor became; "" for none. An unknown name stays as it is."""
    plain = re.sub(r"[\s_-]+", "_", processor.strip().lower())
    if plain in ("", NO_PROCESSOR):
        return ""
    return RENAMED.get(plain, plain) if plain in _KNOWN else processor.strip()


def current_connector(name: str) -> str:
    """Return the present name of a connector: `openai_tools` is `openai`."""
    return _CONNECTORS.get(name, name)


def processor_of(tool: str) -> str:
    """Return the name that clients of version 1 know a tool by."""
    return _OLD_NAMES.get(tool, tool)


def processor_binding(old: Mapping[str, Any], columns: LegacyColumns) -> Converted:
    """Return the binding for the processor that the old keys and the columns describe."""
    processor = old.get("rag_processor")
    if processor is not None and not isinstance(processor, str):
        unmapped = {"rag_processor": processor, **unsaid(old, {})}
        return Converted(None, unmapped, ("rag_processor is not a text; no tool replaces it.",))
    tool = tool_of(processor or "")
    if not tool:
        return Converted(None, unsaid(old, {}), ())
    config, notes = _config(tool, old, columns)
    if tool not in _OURS:
        notes += (f"No tool {tool[:100]!r} comes with Heddle; install one or choose another.",)
    return Converted(bound(tool, CONTEXT, config), unsaid(old, config), notes)


def unsaid(old: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the old keys that say something which `config` does not."""
    return {
        key: old[key]
        for member, key in MEMBERS.items()
        if _says_something(key, old.get(key)) and not _says(config.get(member), key, old[key])
    }


def document_binding(old: Mapping[str, Any]) -> tuple[dict[str, Any] | None, Notes]:
    """Return the binding for the reference document in a library."""
    processor = old.get("document_rag")
    if processor is not None and not isinstance(processor, str):
        return None, ("document_rag is not a text; no tool replaces it.",)
    tool = tool_of(processor or "")
    if not tool:
        return None, ()
    binding = bound(tool, DOCUMENT, _library_item(old))
    if tool != _LIBRARY_FILE:
        return binding, (f"No tool {tool[:100]!r} reads a reference document.",)
    # As in version 1: without the document, the assistant does not answer.
    return {**binding, "on_failure": "fail"}, (_LIBRARY_NOTE,)


def bound(tool: str, slot: str, config: dict[str, Any]) -> dict[str, Any]:
    """Return a binding that fills `slot` before the model runs."""
    return {"type": tool, "mode": "augment", "enabled": True, "slot": slot, "config": config}


def _config(
    tool: str, old: Mapping[str, Any], columns: LegacyColumns
) -> tuple[dict[str, Any], Notes]:
    if tool in KNOWLEDGE:
        collections, cut = collections_of(columns.collections, exact=columns.exact)
        if columns.exact:
            return {"collections": collections, "top_k": exact_top_k(columns.top_k)}, cut
        top_k, bounded = top_k_of(columns.top_k)
        return {"collections": collections, "top_k": top_k}, cut + bounded
    if tool == "rubric":
        return _rubric(old)
    if tool == "single_file":
        path = old.get("file_path")
        if isinstance(path, str) and path.strip():
            return {"file_path": path}, ()
        return {}, ("The assistant names no file.",)
    return (_library_item(old), (_LIBRARY_NOTE,)) if tool == _LIBRARY_FILE else ({}, ())


def _rubric(old: Mapping[str, Any]) -> tuple[dict[str, Any], Notes]:
    config: dict[str, Any] = {}
    notes: Notes = ()
    match old.get("rubric_id"):
        case bool():
            notes += ("rubric_id is not an id.",)
        case str(text) if text.strip():
            config["rubric_id"] = text
        case int(number) if number:
            config["rubric_id"] = number
        case _:
            notes += ("The assistant names no rubric.",)
    known = _plain(old.get("rubric_format"))
    config["format"] = known if known in _FORMATS else _FORMATS[0]
    if known not in _FORMATS and _says_something("rubric_format", old.get("rubric_format")):
        notes += ("rubric_format is neither markdown nor json; it is markdown now.",)
    return config, notes


def _library_item(old: Mapping[str, Any]) -> dict[str, Any]:
    return {key: old[key] for key in ("library_id", "item_id") if key in old}


def _plain(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _says(value: object, key: str, expected: object) -> bool:
    return value == _plain(expected) if key == "rubric_format" else same(value, expected)


def _says_something(key: str, value: object) -> bool:
    """Return whether a value is more than what forms of version 1 write for every assistant."""
    plain = _plain(value)
    return plain not in (None, "") and not (key == "rubric_format" and plain == _FORMATS[0])
