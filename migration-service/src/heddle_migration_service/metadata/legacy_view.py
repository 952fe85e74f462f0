"""A document of version 2 as LAMB's clients know it.

They promote the old keys to the top, and refuse to save an assistant that lacks one of
`prompt_processor`, `connector`, `llm` and `rag_processor`.
"""

import copy
from collections.abc import Sequence
from typing import Any

from heddle_conversion.bindings import normal, numbered
from heddle_conversion.columns import LegacyColumns, collections_of, top_k_of
from heddle_conversion.contract import CONNECTOR, MODEL, PROMPT_PROCESSOR
from heddle_conversion.processors import (
    CONTEXT,
    KNOWLEDGE,
    LEGACY_KEYS,
    MEMBERS,
    NO_PROCESSOR,
    RENAMED,
    processor_of,
    tool_of,
)
from heddle_conversion.unmapped_fields import unmapped_fields

_DEFAULTS = {"prompt_processor": PROMPT_PROCESSOR, "connector": CONNECTOR, "llm": MODEL}

_NOTHING = "no_tool"


def legacy_view(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return `metadata` with the old keys, told by the binding that does the processor's work."""
    view = {k: copy.deepcopy(v) for k, v in metadata.items() if k not in LEGACY_KEYS}
    for key, default in _DEFAULTS.items():
        value = view.get(key)
        if not isinstance(value, str) or not value.strip():
            view[key] = default
    return view | legacy_fields(metadata)


def legacy_columns(metadata: dict[str, Any], columns: LegacyColumns) -> LegacyColumns:
    """Return the columns to show: as stored, unless the binding says something else by now."""
    binding = legacy_binding(numbered(normal(metadata.get("tools")).bindings))
    if binding is None or binding["type"] not in KNOWLEDGE:
        return columns
    top_k, collections = columns.top_k, columns.collections
    config = binding["config"]
    searched = config.get("collections")
    if isinstance(searched, list) and searched != collections_of(collections)[0]:
        collections = ",".join(map(str, searched))
    if "top_k" in config and config["top_k"] != top_k_of(top_k)[0]:
        top_k = config["top_k"]
    return LegacyColumns(top_k, collections)


def legacy_fields(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the old keys alone."""
    held = {key: metadata[key] for key in MEMBERS.values() if key in metadata}
    held |= {key: v for key, v in unmapped_fields(metadata).items() if key in MEMBERS.values()}
    binding = legacy_binding(numbered(normal(metadata.get("tools")).bindings))
    if binding is not None and binding["type"] in RENAMED.values():
        config = binding["config"]
        held |= {key: config[member] for member, key in MEMBERS.items() if member in config}
    processor = NO_PROCESSOR if binding is None else processor_of(binding["type"])
    return {"file_path": "", **copy.deepcopy(held), "rag_processor": processor}


def legacy_binding(bindings: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the binding that an old client sees as the assistant's processor.

    That is the first one in use that fills `{context}`, or that does the work of a processor and
    leaves the slot to the tool. What has another slot was never one processor's.
    """
    known = KNOWLEDGE | set(RENAMED.values())
    for binding in bindings:
        slot = binding.get("slot", CONTEXT if binding["type"] in known else "")
        is_context_tool = tool_of(binding["type"]) not in ("", _NOTHING) and slot == CONTEXT
        if is_context_tool and binding["enabled"] and binding["mode"] == "augment":
            return binding
    return None
