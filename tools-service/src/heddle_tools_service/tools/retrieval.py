"""The shared parts of the tools that search collections: options, search, failures."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from heddle_tools_service.capabilities.passages import (
    IDENTIFIER,
    NO_OPTIONS,
    FailedSearch,
    PassageResults,
    Passages,
    Reranking,
    SearchOptions,
)
from heddle_tools_service.sdk import (
    Collections,
    OfferContext,
    ToolArguments,
    ToolCall,
    ToolConfig,
    ToolError,
    ToolUnavailableError,
)

ASSET_MANUAL = "AssetManual"
MAX_COLLECTIONS = 64
BALANCED = SearchOptions(vector_weight=0.5)
RerankingOption = Annotated[
    Reranking,
    Field(
        title="Reordering",
        description="What reorders the best passages: model asks the reranking model of the "
        "knowledge service, none asks it only if the organisation has chosen it",
    ),
]
NamedCollections = Annotated[
    Collections, Field(title="Collections", max_length=MAX_COLLECTIONS, examples=[["kb-1"]])
]
_TRIAL_SECONDS = 2.0
_TRIAL_QUERY = "What is this?"
_NO_QUERY = "No user message found for query"


class KnowledgeBaseConfig(ToolConfig):
    """The collections to search, and the number and order of results."""

    collections: NamedCollections = Field(description="List of collection IDs to query")
    top_k: int = Field(
        title="Results",
        default=3,
        ge=1,
        le=20,
        description="Number of results to retrieve from each collection",
    )
    threshold: float = Field(
        title="Similarity",
        default=0.0,
        ge=0.0,
        le=1.0,
        description="Similarity threshold; 0 lets everything pass",
    )
    only_relevant: bool = Field(
        title="Decline other subjects",
        default=False,
        description="Find nothing in a collection whose best passage is hardly similar to the "
        "question, so that the assistant can say that its documents do not answer it",
    )
    reranking: RerankingOption = "none"


class ManualConfig(ToolConfig):
    """The collections to search."""

    collections: Collections = Field(
        title="Collections",
        default=(ASSET_MANUAL,),
        min_length=1,
        max_length=MAX_COLLECTIONS,
        description="Collections that may be searched, the one for calls that name none first",
    )


class ManualPassagesConfig(ManualConfig):
    """The collections to search for passages, and the order of the results."""

    reranking: RerankingOption = "none"


class SearchText(ToolArguments):
    """The query; without one, the user's message is searched for."""

    query: str = Field(
        default="",
        max_length=10_000,
        description="Search query text. Without it, what the user asked.",
    )


def chosen(config: Any) -> tuple[str, ...]:  # noqa: ANN401 - any configuration with `collections`
    """Return the names of the collections, each once."""
    return tuple(dict.fromkeys(filter(None, config.collections)))


def spoken(collections: Collection[str]) -> str:
    """Return collections as a status names them: identifiers say nothing to people."""
    return ", ".join(each for each in collections if not IDENTIFIER.fullmatch(each)) or "documents"


def any_chosen(context: OfferContext[Any]) -> bool:
    """Return whether a configuration names collections."""
    return bool(chosen(context.config))


async def documents_exist(call: ToolCall[Any, Any], passages: Passages) -> bool:
    """Return whether the configured collections contain a document."""
    return await passages.have_documents(chosen(call.config))


async def searchable(
    call: ToolCall[Any, Any],
    passages: Passages,
    *,
    top_k: int,
    threshold: float = 0.0,
    options: SearchOptions = NO_OPTIONS,
) -> bool:
    """Return True if the routing agent can search any of the configured collections.

    It makes the search that the tool makes by default, whose answer the knowledge service keeps.
    Once a tool has run, its result tells what can be searched.

    Args:
        call: The call of the callback.
        passages: The collections.
        top_k: The maximum number of passages that the tool takes from each collection.
        threshold: The least similarity.
        options: How the tool selects and orders passages.

    Raises:
        ToolUnavailableError: They do not exist, or the embedding model or the service does not
            answer. A search that only takes long is no such failure.
    """
    if call.mode == "agent" and not call.tree.history:
        names = chosen(call.config)
        query = call.tree.query.strip() or _TRIAL_QUERY
        try:
            async with asyncio.timeout(_TRIAL_SECONDS):
                results = await passages.search(
                    names, query, top_k=top_k, threshold=threshold, options=options
                )
        except TimeoutError:
            return True
        if results.failures and len(results.failures) == len(names):
            raise ToolUnavailableError(f"Search failed: {results.failures[0].message}")
    return True


async def searchable_documents_exist(call: ToolCall[Any, Any], passages: Passages) -> bool:
    """Return whether the configured collections contain a document and can be searched."""
    config: KnowledgeBaseConfig = call.config
    return await documents_exist(call, passages) and await searchable(
        call,
        passages,
        top_k=config.top_k,
        threshold=config.threshold,
        options=configured_options(config),
    )


def configured_options(
    config: KnowledgeBaseConfig, options: SearchOptions = NO_OPTIONS
) -> SearchOptions:
    """Return options of a search with those of a configuration."""
    return replace(options, reranking=config.reranking, only_relevant=config.only_relevant)


def required(config: Any) -> tuple[str, ...]:  # noqa: ANN401 - likewise
    """Return the names of the collections, each once.

    Raises:
        ToolError: There are none.
    """
    collections = chosen(config)
    if not collections:
        raise ToolError("No collections configured")
    return collections


def check(call: ToolCall[Any, Any]) -> None:
    """Refuse a search without collections or without a query.

    Raises:
        ToolError: One of them is missing.
    """
    required(call.config)
    if not call.query.strip():
        raise ToolError(_NO_QUERY)


def search_text(call: ToolCall[Any, Any]) -> str:
    """Return the query of the model, otherwise the user's message.

    Raises:
        ToolError: Both are empty.
    """
    arguments: SearchText = call.arguments
    query = arguments.query.strip() or call.query.strip()
    if not query:
        raise ToolError(_NO_QUERY)
    return query


async def look_up(
    call: ToolCall[KnowledgeBaseConfig],
    passages: Passages,
    query: str,
    *,
    sections: bool = False,
    options: SearchOptions = NO_OPTIONS,
) -> PassageResults:
    """Search the configured collections at once.

    Raises:
        ToolError: Every one of them failed; the message is the first one's.
    """
    # A collection that is named twice would repeat its passages.
    collections = chosen(call.config)
    for collection in collections:
        call.status(f"querying knowledge base {spoken([collection])}")
    results = await passages.search(
        collections,
        query,
        top_k=call.config.top_k,
        threshold=call.config.threshold,
        sections=sections,
        options=configured_options(call.config, options),
    )
    refuse_failure(results.failures, collections)
    return results


def refuse_failure(failures: Sequence[FailedSearch], collections: Collection[str]) -> None:
    """Raise the first failure if all `collections` failed.

    Raises:
        ToolError: The first failure.
    """
    if len(failures) == len(collections):
        raise as_error(failures[0])


def as_error(failure: FailedSearch) -> ToolError:
    """Return the error of a failed search."""
    return (ToolUnavailableError if failure.unavailable else ToolError)(failure.message)


def search_failed(failure: FailedSearch) -> ToolError:
    """Return the error of a search without results, with advice for the routing agent."""
    kind = ToolUnavailableError if failure.unavailable else ToolError
    suggestion = (
        "Try a different query or check service availability"
        if failure.unavailable
        else "Search another collection, or answer without"
    )
    details: dict[str, Any] = {"recoverable": failure.unavailable, "suggestion": suggestion}
    return kind(f"Search failed: {failure.message}", kind="search_failed", details=details)
