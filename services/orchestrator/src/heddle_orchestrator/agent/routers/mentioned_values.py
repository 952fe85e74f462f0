"""The values of a tool's arguments that a conversation contains, by the tool's JSON Schema."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from heddle_orchestrator.agent.decision import Candidate
from heddle_orchestrator.agent.routers.text_constraints import (
    TIME_FORMATS,
    any_fits,
    is_text,
    parts_of,
)
from heddle_orchestrator.agent.state import State

_MAX_DEPTH = 4
"""The depth of references and alternatives in the schema of an argument."""


def mentioned_values(state: State, tool: Candidate) -> dict[str, list[str]]:
    """Return the listed values that the question contains, else the conversation, by argument."""
    listed = {
        name: _listed_texts(schema, tool)
        for name, schema in tool.schema.get("properties", {}).items()
    }
    return {
        name: contained
        for name, values in listed.items()
        if (contained := _contained(values, state.prompt) or _contained(values, state.query))
    }


def fill_evidence(text: str, tool: Candidate) -> float:
    """Rate from -1 (none) to 1 (all) how many of a tool's required values a text contains.

    Listed values, texts with a pattern, numbers and times count; 0 if the tool requires none.
    """
    properties = tool.schema.get("properties", {})
    contained = [
        value
        for name in tool.schema.get("required", ())
        if (value := _contains_value(text, properties.get(name, {}), tool)) is not None
    ]
    return 2 * sum(contained) / len(contained) - 1 if contained else 0.0


def _contains_value(text: str, schema: Any, tool: Candidate) -> bool | None:  # noqa: ANN401 - any JSON Schema
    """Return whether a text contains a value for an argument; None if that says nothing."""
    if not isinstance(schema, dict):
        return None
    if values := _listed_texts(schema, tool):
        return bool(_contained(values, text))
    if schema.get("type") in ("integer", "number") or schema.get("format") in TIME_FORMATS:
        return any(character.isdigit() for character in text)
    if is_text(schema) and "pattern" in schema:
        return any_fits(schema, parts_of(text))
    return None


def _contained(values: Sequence[str], text: str) -> list[str]:
    whole = text.casefold()
    return [
        each for each in values if re.search(rf"(?<!\w){re.escape(each.casefold())}(?!\w)", whole)
    ]


def _listed_texts(schema: Any, tool: Candidate) -> list[str]:  # noqa: ANN401 - any JSON Schema
    values = _listed(schema, tool.schema.get("$defs", {}))
    return [each for each in values if isinstance(each, str) and each]


def _listed(schema: Any, definitions: Mapping[str, Any], depth: int = 0) -> list[Any]:  # noqa: ANN401 - any JSON Schema
    """Return the values that a schema lists, itself or in its alternatives."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return []
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    alternatives = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), definitions.get(name)]
    return [
        *schema.get("enum", ()),
        *(value for each in alternatives for value in _listed(each, definitions, depth + 1)),
    ]
