"""Searches the web, if a search provider is configured."""

from typing import Any, Literal

from pydantic import Field

from heddle_tools_service.capabilities.web_search import WebAnswer, WebResult, WebSearch
from heddle_tools_service.sdk import (
    Example,
    Source,
    ToolCall,
    ToolConfig,
    ToolError,
    ToolResult,
    tool,
)
from heddle_tools_service.tools.retrieved import empty_search_text


class WebSearchConfig(ToolConfig):
    """The search provider, and the number of results."""

    provider: Literal["", "perplexity", "tavily", "brave", "searxng"] = Field(
        title="Provider", default="", description="Whom to ask; empty: the first that is set up"
    )
    limit: int = Field(
        title="Results", default=5, ge=1, le=20, description="Maximum number of results"
    )


async def _available(call: ToolCall[WebSearchConfig], web: WebSearch) -> bool:
    known = await web.providers()
    return call.config.provider in known if call.config.provider else bool(known)


@tool(
    "web_search",
    title="Web Search",
    label="Web",
    slot="web",
    category="utilities",
    modes=("augment", "function", "agent"),
    examples=[
        Example("What is the weather like in Girona today?", {"query": "weather Girona today"}),
        Example("Who won the election yesterday?", {"query": "election result"}),
        Example(
            "What does the newest release of Python bring?", {"query": "newest Python release"}
        ),
    ],
    available=_available,
)
async def web_search(call: ToolCall[WebSearchConfig], web: WebSearch) -> ToolResult:
    """Search the web for current information, news or general knowledge."""
    query = call.query.strip()
    if not query:
        raise ToolError("No user message found for query")
    call.status("searching the web")
    answer = await web.search(query, max_results=call.config.limit, provider=call.config.provider)
    sources = [
        Source(each.title, each.url, each.snippet, kind="web", attributes=_attributes(each))
        for each in answer.results
    ]
    metadata = {"provider": answer.provider, "count": len(answer.results)}
    count = len(answer.results) or int(bool(answer.answer))
    if call.called:
        content = _content(answer)
        answered = [{"answer": answer.answer}] if answer.answer else []
        return ToolResult.json(
            content,
            sources=sources,
            metadata=metadata,
            objects=[*answered, *content["results"]],
            name="web",
            message=f"Found {len(answer.results)} web pages for '{query}'",
            count=count,
        )
    text = _page(answer) or empty_search_text("pages", query, ["the web"])
    return ToolResult(text, sources, metadata, count=count)


def _attributes(each: WebResult) -> dict[str, str]:
    return {"published": each.published} if each.published else {}


def _content(answer: WebAnswer) -> dict[str, Any]:
    return {
        "answer": answer.answer,
        "results": [
            {"title": each.title, "url": each.url, "snippet": each.snippet, **_attributes(each)}
            for each in answer.results
        ],
        "citations": list(answer.citations),
    }


def _page(answer: WebAnswer) -> str:
    listed = [
        f"[{number}] {each.title}\n{each.url}\n{each.snippet}".rstrip()
        for number, each in enumerate(answer.results, 1)
    ]
    return "\n\n".join(filter(None, (answer.answer, *listed)))
