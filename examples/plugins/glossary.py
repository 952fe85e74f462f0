"""Explains the terms that a question contains."""

from heddle_tools_service.sdk import ToolCall, ToolConfig, ToolResult, tool
from pydantic import Field


class GlossaryConfig(ToolConfig):
    """What an assistant's author can set."""

    terms: dict[str, str] = Field(
        default={"heddle": "A loop on a loom that holds one thread in its place."},
        description="Terms in small letters, each with its explanation.",
    )


@tool("glossary", title="Glossary", category="teaching", slot="glossary")
async def glossary(call: ToolCall[GlossaryConfig]) -> ToolResult:
    """Explains the terms that the last message contains."""
    call.status("looking terms up")
    query = call.query.casefold()
    terms = {term: text for term, text in call.config.terms.items() if term in query}
    return ToolResult("\n".join(f"{term}: {text}" for term, text in terms.items()))
