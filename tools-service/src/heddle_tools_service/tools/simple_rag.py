"""Tools that put passages of knowledge bases into the prompt."""

from collections.abc import Iterable, Mapping
from string import Template
from typing import Any

from heddle_tools_service.capabilities.passages import PassageResults, Passages
from heddle_tools_service.capabilities.small_model import SmallModel
from heddle_tools_service.sdk import Query, ToolCall, ToolError, ToolResult, own_words, tool
from heddle_tools_service.tools.retrieval import KnowledgeBaseConfig, check, chosen, look_up
from heddle_tools_service.tools.retrieved import empty_search_text, passage_source, searched_places

_INSTRUCTIONS = ("system", "developer")
_MAX_MESSAGES = 10
_MAX_MESSAGE_CHARS = 1_000
_MAX_QUERY_CHARS = 400
_TASK = Template("""\
Below is the end of a conversation. Write the one search query that finds what the user's last
message needs. Replace words such as "it" or "that one" by what they stand for. Keep the language
of the user. Answer with the query alone.

$conversation

Search query:""")


@tool(
    "simple_rag",
    title="Knowledge",
    label="Knowledge",
    category="rag",
    modes=("augment", "function"),
)
async def simple_rag(call: ToolCall[KnowledgeBaseConfig], passages: Passages) -> ToolResult:
    """Finds the passages of collections that fit the question."""
    check(call)
    results = await look_up(call, passages, call.query)
    return rag_result(call, call.query, results, (passage.text for passage in results.passages))


@tool(
    "context_aware_rag",
    title="Knowledge for the whole conversation",
    label="Conversation",
    category="rag",
    modes=("augment", "function"),
)
async def context_aware_rag(
    call: ToolCall[KnowledgeBaseConfig], passages: Passages, model: SmallModel
) -> ToolResult:
    """Finds passages of collections for the question that the whole conversation asks."""
    check(call)
    query = await _rewritten(call, model)
    results = await look_up(call, passages, query)
    texts = (passage.text for passage in results.passages)
    return rag_result(call, query, results, texts, query_rewritten=query != call.query)


@tool(
    "hierarchical_rag",
    title="Knowledge in whole sections",
    label="Sections",
    category="rag",
    modes=("augment", "function"),
)
async def hierarchical_rag(
    call: ToolCall[KnowledgeBaseConfig], passages: Passages, model: SmallModel
) -> ToolResult:
    """Retrieves the sections around the passages that answer what the conversation asks."""
    check(call)
    query = await _rewritten(call, model)
    results = await look_up(call, passages, query, sections=True)
    # Several passages of one section bring it once.
    sections = dict.fromkeys(passage.section or passage.text for passage in results.passages)
    return rag_result(call, query, results, sections, query_rewritten=query != call.query)


def rag_result(
    call: ToolCall[KnowledgeBaseConfig],
    query: str,
    results: PassageResults,
    texts: Iterable[str],
    **more: bool,
) -> ToolResult:
    """Return passages as the result of a tool.

    Args:
        call: The call of the tool.
        query: The query of the search.
        results: The passages.
        texts: The texts for the slot.
        more: Further metadata.
    """
    places = searched_places(chosen(call.config), results.failures)
    return ToolResult(
        "\n\n".join(filter(None, texts)) or empty_search_text("passages", query, places),
        [passage_source(passage) for passage in results.passages],
        {
            "collections_queried": len(set(call.config.collections)),
            "documents_retrieved": len(results.passages),
            **more,
        },
        [*(failure.message for failure in results.failures), *results.warnings],
        count=len(results.passages),
    )


async def _rewritten(call: ToolCall[Any], model: SmallModel) -> str:
    """Return a query that makes sense without the conversation.

    The query of a model that calls the tool does already. Without an answer of the small model the
    query is the last user message.
    """
    if isinstance(call.arguments, Query) or not model.configured:
        return call.query
    spoken = [each for each in call.request["messages"] if each.get("role") not in _INSTRUCTIONS]
    turns = "\n".join(map(_turn, spoken[-_MAX_MESSAGES:]))
    try:
        answer = await model.generate(_TASK.substitute(conversation=turns), max_tokens=100)
    except ToolError:
        return call.query
    lines = [line.strip(" \t\"'`") for line in answer.splitlines()]
    return next(filter(None, lines), call.query)[:_MAX_QUERY_CHARS]


def _turn(message: Mapping[str, Any]) -> str:
    role, content = message.get("role", "user"), message.get("content") or ""
    texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    text = " ".join(map(own_words, texts)) if role == "user" else " ".join(texts)
    return f"{role}: {text[:_MAX_MESSAGE_CHARS]}"
