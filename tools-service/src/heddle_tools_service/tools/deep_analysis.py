"""Looks through documents several times, each time for what is still missing."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from heddle_tools_service.sdk import Query, ToolCall, ToolResult, tool
from heddle_tools_service.tools.investigation import Investigation, Limits
from heddle_tools_service.tools.passes import Fusion
from heddle_tools_service.tools.retrieve_documents import format_passages
from heddle_tools_service.tools.simple_rag import KnowledgeBaseConfig, check, source_of

Allowed = Literal["retrieve_documents", "hybrid_search"]
_OF_ITS_TIME = 0.8
"""What the searches and plans may take, so that what they found can be told."""


class DeepAnalysisConfig(KnowledgeBaseConfig):
    """Where to look, and how much work that may be."""

    top_k: int = Field(
        default=5, ge=1, le=20, description="Number of results of each pass from each collection"
    )
    tools: tuple[Allowed, ...] = Field(
        default=("retrieve_documents", "hybrid_search"),
        min_length=1,
        description="The searches that may be made; hybrid_search looks at pages, too",
    )
    max_passes: int = Field(default=6, ge=1, le=16, description="Maximum number of searches")
    max_tokens: int = Field(
        default=1_000,
        ge=0,
        le=16_000,
        description="Maximum tokens that the small model writes in all; 0: it is not asked",
    )
    max_passages: int = Field(default=12, ge=1, le=50, description="Maximum passages in the end")
    fusion: Fusion = Field(
        default="reciprocal_rank",
        description="How the rankings of the passes become one: by places or by scores",
    )


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
) -> ToolResult:
    """Investigate the user's documents thoroughly, in several rounds of different searches."""
    check(call)
    config, task = call.config, call.query
    limits = Limits(config.max_passes, config.max_tokens, call.seconds * _OF_ITS_TIME)
    work = Investigation(call, task, limits)
    areas = (area.strip() for area in (call.arguments.focus_areas if call.arguments else ()))
    await work.begin([task, *(f"{task} {area}" for area in areas if area)])
    while searches := await work.plan():
        await work.make(searches)
    passages = work.best()[: config.max_passages]
    formatted = format_passages(passages)
    written = await work.write(formatted) if passages else ""
    return ToolResult(
        "\n\n".join(filter(None, (work.summary(), written, formatted))),
        [source_of(each) for each in passages],
        {**work.facts(), "documents_retrieved": len(passages)},
        list(dict.fromkeys(work.warnings)),
    )
