"""From version 1, one processor per assistant, to version 2, any number of tools."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from heddle_runtime.contract.limits import MAX_TOOLS

from heddle_conversion.bindings import normal, numbered
from heddle_conversion.columns import LegacyColumns, Notes
from heddle_conversion.processors import (
    LEGACY_KEYS,
    document_binding,
    processor_binding,
    unsaid,
)
from heddle_conversion.unmapped_fields import set_aside

SYNTAX = "lamb"
"""The syntax of templates of version 1, as `heddle.assistant.v1.TemplateSyntax` names it."""


def to_version_2(
    metadata: Mapping[str, Any], columns: LegacyColumns
) -> tuple[dict[str, Any], Notes]:
    """Return `metadata` with its processor and every shape of `tools` as bindings."""
    tools = normal(metadata.get("tools"), exact=columns.exact)
    document, unread = document_binding(metadata)
    bindings = tools.bindings if document is None else [document, *tools.bindings]
    converted = {key: value for key, value in metadata.items() if key not in LEGACY_KEYS}
    processor = processor_binding(metadata, columns)
    unmapped, notes = processor.unmapped, processor.notes
    if processor.binding is not None:
        twin = _twin(processor.binding, tools.bindings)
        if twin is None:
            bindings = [processor.binding, *bindings]
            # Version 1 listed the sources below what the processor found.
            converted.setdefault("cite_sources", True)
        else:
            # Written for older readers; it fills what the tool leaves open, and nothing else.
            twin["config"] = {**processor.binding["config"], **twin["config"]}
            unmapped = unsaid(metadata, twin["config"])
            notes = ("rag_processor repeats one of the tools; the tool counts.",)
    converted["tools"] = numbered(bindings)
    converted.setdefault("template_syntax", SYNTAX)
    set_aside(converted, {**unmapped, **tools.unmapped})
    return converted, tools.notes + notes + unread + _crowded(converted["tools"])


def _twin(binding: dict[str, Any], bindings: list[dict[str, Any]]) -> dict[str, Any] | None:
    key = (binding["type"], binding["mode"])
    return next((each for each in bindings if (each["type"], each["mode"]) == key), None)


def _crowded(bindings: list[dict[str, Any]]) -> Notes:
    slots = Counter(
        binding["slot"]
        for binding in bindings
        if "slot" in binding and binding["enabled"] and binding["mode"] == "augment"
    )
    shared = [slot for slot, tools in slots.items() if tools > 1]
    notes = tuple(f"Several tools fill {{{slot}}}; their texts are joined." for slot in shared)
    if len(bindings) > MAX_TOOLS:
        notes += (f"The assistant has more than {MAX_TOOLS} tools; it cannot answer.",)
    return notes
