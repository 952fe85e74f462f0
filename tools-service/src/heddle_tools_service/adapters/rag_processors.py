"""Files with `rag_processor(messages, assistant)`, LAMB's oldest shape."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from heddle_tools_service.adapters.legacy import (
    LegacyAssistant,
    calling,
    stem,
    title_of,
    to_result,
)
from heddle_tools_service.sdk import Tool, ToolCall


def read(module: ModuleType) -> Iterator[Tool]:
    """Yield the tool of a module, if it is of this shape."""
    process = getattr(module, "rag_processor", None)
    if not callable(process):
        return

    def arguments(call: ToolCall[dict[str, Any]]) -> tuple[Any, ...]:
        return call.request["messages"], LegacyAssistant.of(call)

    name = stem(module)
    yield Tool(
        name=name,
        title=title_of(name),
        description="Legacy RAG processor.",
        slot="context",
        schema={},
        parse=dict,
        run=calling(process, arguments, to_result),
        category="legacy",
        module=module.__name__,
    )
