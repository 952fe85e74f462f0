"""Counts words. The smallest complete tool: copy it to start a new one."""

from pydantic import Field

from heddle_tools_service.sdk import ToolCall, ToolConfig, ToolResult, tool


class WordCountConfig(ToolConfig):
    """What an assistant's author can set."""

    minimum_length: int = Field(
        title="Shortest word",
        default=1,
        ge=1,
        le=100,
        description="Length of the shortest word that counts.",
    )


@tool(
    "word_count",
    title="Word count",
    label="Word count",
    slot="word_count",
    category="development",
    modes=("augment", "function"),
)
async def word_count(call: ToolCall[WordCountConfig]) -> ToolResult:
    """Tells the model how many words the last message has."""
    call.status("counting words")
    words = [word for word in call.query.split() if len(word) >= call.config.minimum_length]
    return ToolResult(f"The message has {len(words)} words.", metadata={"words": len(words)})
