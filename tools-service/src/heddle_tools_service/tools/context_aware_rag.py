"""Looks up what the conversation asks for, not only what the last message says."""

from collections.abc import Mapping
from typing import Any

from heddle_tools_service.capabilities.passages import Passages
from heddle_tools_service.capabilities.small_model import SmallModel
from heddle_tools_service.sdk import Query, ToolCall, ToolError, ToolResult, tool
from heddle_tools_service.tools.simple_rag import KnowledgeBaseConfig, check, look_up, rag_result

_MESSAGES = 10
_MAX_MESSAGE_CHARS = 1_000
_MAX_QUERY_CHARS = 400
_TASK = """\
Below is the end of a conversation. Write the one search query that finds what the user's last
message needs. Replace words such as "it" or "that one" by what they stand for. Keep the language
of the user. Answer with the query alone.

{conversation}

Search query:"""


@tool(
    "context_aware_rag",
    title="Context-Aware RAG",
    config=KnowledgeBaseConfig,
    slot="context",
    category="rag",
    modes=("augment", "function"),
)
async def context_aware_rag(
    call: ToolCall[KnowledgeBaseConfig], passages: Passages, model: SmallModel
) -> ToolResult:
    """Retrieves context from knowledge bases for the question that the whole conversation asks."""
    check(call)
    query = await rewritten(call, model)
    findings = await look_up(call, passages, query)
    texts = (passage.text for passage in findings.passages)
    return rag_result(call, findings, texts, query_rewritten=query != call.query)


async def rewritten(call: ToolCall[Any], model: SmallModel) -> str:
    """Return a query that makes sense without the conversation.

    What a model asks for does already; and the last user message stays as it is if there is no
    small model, or none that answers.
    """
    if isinstance(call.arguments, Query) or not model.configured:
        return call.query
    turns = "\n".join(map(_turn, call.request["messages"][-_MESSAGES:]))
    try:
        # Not `format`: the conversation may hold braces.
        answer = await model.generate(_TASK.replace("{conversation}", turns), max_tokens=100)
    except ToolError:
        return call.query
    lines = [line.strip(" \t\"'`") for line in answer.splitlines()]
    return next(filter(None, lines), call.query)[:_MAX_QUERY_CHARS]


def _turn(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        content = " ".join(part["text"] for part in content if part.get("type") == "text")
    return f"{message.get('role', 'user')}: {content[:_MAX_MESSAGE_CHARS]}"
