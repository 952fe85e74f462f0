"""Searches documents in several rounds, each for what is still missing."""

from typing import Annotated

from pydantic import Field, StringConstraints

from heddle_tools_service.capabilities.pages import Pages
from heddle_tools_service.capabilities.passages import Passages
from heddle_tools_service.capabilities.small_model import SmallModel
from heddle_tools_service.sdk import Query, ToolCall, ToolResult, tool
from heddle_tools_service.tools.investigation import DeepAnalysisConfig, Investigation
from heddle_tools_service.tools.retrieval import (
    any_chosen,
    check,
    chosen,
    searchable_documents_exist,
)
from heddle_tools_service.tools.retrieve_documents import format_passages
from heddle_tools_service.tools.retrieved import empty_search_text, passage_source


class DeepAnalysisArguments(Query):
    """The question to investigate."""

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
    category="rag",
    modes=("augment", "function"),
    enabled=any_chosen,
    available=searchable_documents_exist,
)
async def deep_analysis(
    call: ToolCall[DeepAnalysisConfig, DeepAnalysisArguments | None],
    passages: Passages,
    pages: Pages,
    model: SmallModel,
) -> ToolResult:
    """Investigate the user's documents thoroughly, in several rounds of different searches."""
    check(call)
    task = call.query
    work = Investigation(call, passages, pages, model)
    areas = (area.strip() for area in (call.arguments.focus_areas if call.arguments else ()))
    await work.begin([task, *(f"{task} {area}" for area in areas if area)])
    while searches := await work.plan():
        await work.make(searches)
    best = work.best()[: call.config.max_passages]
    nothing = empty_search_text("passages", task, chosen(call.config))
    return ToolResult(
        f"{work.summary()}\n\n{format_passages(best) or nothing}",
        [passage_source(each) for each in best],
        {**work.facts(), "documents_retrieved": len(best)},
        list(dict.fromkeys(work.warnings)),
        count=len(best),
    )
