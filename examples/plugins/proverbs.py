"""Finds proverbs, and yields what it does as it goes on."""

from collections.abc import AsyncGenerator

from heddle_tools_service.sdk import Error, Query, Result, Status, ToolCall, ToolConfig, tool
from pydantic import Field


class ProverbsConfig(ToolConfig):
    """What an assistant's author can set."""

    proverbs: tuple[str, ...] = Field(
        default=("A stitch in time saves nine.", "Cut your coat according to your cloth."),
        description="The proverbs that are known.",
    )


@tool("proverbs", title="Proverbs", modes=("augment", "function", "agent"), effect="read_only")
async def proverbs(
    call: ToolCall[ProverbsConfig, Query],
) -> AsyncGenerator[Result | Error | Status]:
    """Finds proverbs about a thing."""
    known = call.config.proverbs
    if not known:
        yield Error("No proverbs are known.", suggestion="Add some to the configuration")
        return
    yield Status(f"Looking through {len(known)} proverbs...")
    words = {word.strip("?.,!").casefold() for word in call.query.split()}
    matches = [
        {"text": each, "manual": "Proverbs", "page": number}
        for number, each in enumerate(known, start=1)
        if words & set(each.casefold().strip(".").split())
    ]
    yield Result(matches, "proverbs", {"count": len(matches)}, f"Found {len(matches)} proverbs.")
