"""Measures how hard a text is to read by LIX, which needs no dictionary of any language."""

import re

from heddle_tools_service.sdk import Query, ToolCall, ToolConfig, ToolResult, tool
from pydantic import Field

LEVELS = {30: "very easy", 40: "easy", 50: "medium", 60: "hard", 1_000: "very hard"}


class ReadabilityConfig(ToolConfig):
    """What an assistant's author can set."""

    target: float = Field(default=40, ge=20, le=80, description="The highest LIX for the readers.")


class Text(Query):
    """The text to measure."""

    query: str = Field(min_length=1, max_length=20_000, description="The whole text to measure.")


def lix(text: str) -> float:
    """Return the words of a sentence plus the percentage of words with more than six letters."""
    words = re.findall(r"[^\W\d_]+", text)
    sentences = len(re.findall(r"\w[^.!?:]*", text)) or 1
    long = sum(len(word) > 6 for word in words)  # noqa: PLR2004 - the measure's definition
    return len(words) / sentences + 100 * long / (len(words) or 1)


@tool("readability", title="Readability", modes=("augment", "function"), effect="read_only")
async def readability(call: ToolCall[ReadabilityConfig, Text]) -> ToolResult:
    """Measures how hard a text is to read, and names the sentences that are hardest."""
    score, target = lix(call.query), call.config.target
    level = next(name for limit, name in LEVELS.items() if score < limit)
    sentences = re.split(r"(?<=[.!?])\s+", call.query)
    hard = [f"- {each}" for each in sorted(sentences, key=lix)[-3:] if lix(each) > target]
    return ToolResult("\n".join([f"LIX {score:.0f} ({level}), target {target:.0f}.", *hard[::-1]]))
