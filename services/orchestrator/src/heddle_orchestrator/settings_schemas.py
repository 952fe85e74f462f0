"""JSON Schemas of the members of an assistant that strategies and prompt processors read."""

from collections.abc import Mapping
from typing import Any

from heddle_runtime.contract.limits import MAX_TOOL_ROUNDS

Schema = Mapping[str, Any]


def _schema(**properties: Schema) -> Schema:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
    }


def _rounds(title: str, description: str) -> Schema:
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_TOOL_ROUNDS,
        "title": title,
        "description": f"{description} Without it, the operator's limit applies.",
    }


_EMPTY_RESPONSE = {
    "type": "string",
    "title": "Answer if nothing is found",
    "description": "Answers instead of the model if all searches find nothing.",
    "x-heddle-input": "multiline",
}
TOOL_SETTINGS = _schema(
    max_tool_rounds=_rounds(
        "Rounds of function calls", "How often the model may call functions before it must answer."
    ),
    empty_response=_EMPTY_RESPONSE,
)
AGENT_SETTINGS = _schema(
    max_tool_rounds=_rounds(
        "Decisions", "How often the agent may run tools before it must answer."
    ),
    empty_response=_EMPTY_RESPONSE,
)
PROMPT_SETTINGS = _schema(
    cite_sources={
        "type": "boolean",
        "default": False,
        "title": "List the sources",
        "description": "Lists the sources of each tool below its text, for the model.",
    }
)
