"""Attributes with the names of OpenInference, for programs that do not know `gen_ai.*`."""

from collections.abc import Mapping
from typing import Any

_KINDS = {
    "chat": "LLM",
    "generate_content": "LLM",
    "embeddings": "EMBEDDING",
    "execute_tool": "TOOL",
    "invoke_agent": "AGENT",
    "plan": "CHAIN",
    "retrieval": "RETRIEVER",
}
_NAMES = {
    "gen_ai.request.model": "llm.model_name",
    "gen_ai.tool.name": "tool.name",
    "gen_ai.usage.input_tokens": "llm.token_count.prompt",
    "gen_ai.usage.output_tokens": "llm.token_count.completion",
}


def attributes(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a span under the names of OpenInference."""
    repeated = {_NAMES[name]: value for name, value in known.items() if name in _NAMES}
    if kind := _KINDS.get(str(known.get("gen_ai.operation.name", ""))):
        repeated["openinference.span.kind"] = kind
    return repeated
