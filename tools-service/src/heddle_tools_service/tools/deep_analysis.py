"""Looks through documents several times, each time for what is still missing."""

from typing import Annotated

from pydantic import Field, StringConstraints

from heddle_tools_service.capabilities.pages import Pages
from heddle_tools_service.capabilities.passages import Passages
from heddle_tools_service.capabilities.small_model import SmallModel
from heddle_tools_service.sdk import Query, ToolCall, ToolResult, tool
from heddle_tools_service.tools.investigation import (
    DeepAnalysisConfig,
    Investigation,
    Limits,
    Sources,
)
from heddle_tools_service.tools.retrieve_documents import format_passages
from heddle_tools_service.tools.simple_rag import check, source_of

_OF_ITS_TIME = 0.8
"""What the searches and plans may take, so that what they found can be told."""


class DeepAnalysisArguments(Query):
    """What to investigate."""

    query: str = Field(
        min_length=1,
        max_length=10_000,
        description="The analysis query describing what to investigate.",
    )
    focus_areas: tuple[Annotated[str, StringConstraints(max_length=400)], ...] = Field(
        default=(),
        max_length=16,
        description="Optional list of specific areas or topics to focus on.",
    )


@tool(
    "deep_analysis",
    title="Deep Analysis",
    config=DeepAnalysisConfig,
    arguments=DeepAnalysisArguments,
    slot="context",
    category="rag",
    modes=("augment", "function"),
    enabled=lambda occasion: any(occasion.config.collections),
)
async def deep_analysis(
    call: ToolCall[DeepAnalysisConfig, DeepAnalysisArguments | None],
    passages: Passages,
    pages: Pages,
    model: SmallModel,
) -> ToolResult:
    """Investigate the user's documents thoroughly, in several rounds of different searches."""
    check(call)
    config, task = call.config, call.query
    limits = Limits(config.max_passes, config.max_tokens, call.seconds * _OF_ITS_TIME)
    work = Investigation(call, Sources(passages, pages, model), task, limits)
    areas = (area.strip() for area in (call.arguments.focus_areas if call.arguments else ()))
    await work.begin([task, *(f"{task} {area}" for area in areas if area)])
    while searches := await work.plan():
        await work.make(searches)
    best = work.best()[: config.max_passages]
    formatted = format_passages(best)
    written = await work.write(formatted) if best else ""
    return ToolResult(
        "\n\n".join(filter(None, (work.summary(), written, formatted))),
        [source_of(each) for each in best],
        {**work.facts(), "documents_retrieved": len(best)},
        list(dict.fromkeys(work.warnings)),
    )
