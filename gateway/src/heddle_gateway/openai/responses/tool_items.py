"""The items of a response about the assistant's own tools, and its citations."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from heddle.chat.v1.chat_pb2 import ToolCall
from heddle.orchestrator.v1.orchestrator_pb2 import ToolFinished, ToolStarted
from heddle.tool.v1.tool_pb2 import Source
from heddle_runtime.contract.json_text import members

from heddle_gateway.openai.chat import run_events
from heddle_gateway.openai.chat.citations import citations, file_id, web_citation
from heddle_gateway.openai.responses.hosted_tools import MCP_BINDING

FILE_SEARCH, WEB_SEARCH, OTHER_TOOL = "file_search_call", "web_search_call", "mcp_call"
SERVER_LABEL = "heddle"
_PAGE = re.compile(r"\d{1,9}", re.ASCII)
_PICTURE = re.compile(r"/v1/vector_stores/([\w-]+)/files/([\w-]+)/", re.ASCII)
_FILE_SEARCHES = frozenset(
    {
        *("simple_rag", "context_aware_rag", "hierarchical_rag", "retrieve_documents"),
        *("fast_vector_search", "hybrid_search", "colqwen_search", "graph_search"),
    }
)


def tool_kind(event: ToolStarted | ToolFinished) -> tuple[str, str]:
    """Return the prefix of the identifier of the item of a tool that runs, and its type."""
    if event.tool == "web_search":
        return "ws", WEB_SEARCH
    return ("fs", FILE_SEARCH) if event.tool in _FILE_SEARCHES else ("mcp", OTHER_TOOL)


def tool_members(event: ToolStarted | ToolFinished) -> dict[str, Any]:
    """Return the members of the item that depend on its type."""
    arguments = event.call.arguments_json
    query = members(arguments).get("query") if arguments else None
    text = query if isinstance(query, str) else ""
    if event.tool == "web_search":
        return {"action": {"type": "search", "query": text}}
    if event.tool in _FILE_SEARCHES:
        return {"queries": [text] if text else [], "results": None}
    return {
        "approval_request_id": None,
        "server_label": _server_label(event.binding_id),
        "name": run_events.tool_name(event),
        "arguments": arguments or "{}",
        "output": None,
        "error": None,
    }


def approval(call: ToolCall) -> dict[str, Any]:
    """Return the members of the item that asks the user to approve a call.

    `confirmation` is what the approval sends to the orchestrator.
    """
    question = members(call.arguments_json)
    return {
        "status": "completed",
        "server_label": _server_label(question.get("binding_id", "")),
        "name": question.get("function", ""),
        "arguments": msgspec.json.encode(question.get("arguments", {})).decode(),
        "confirmation": question.get("confirmation", ""),
        **extra_content(call),
    }


def _server_label(binding: str) -> str:
    """Return the server of a tool: the client's label of an MCP server, else Heddle."""
    label = binding.removeprefix(MCP_BINDING)
    return SERVER_LABEL if label == binding else label


def extra_content(call: ToolCall) -> dict[str, Any]:
    """Return the member of a call's item with what the provider needs back, if there is some."""
    extra = members(call.extra_json) if call.extra_json else {}
    return {name: value for name, value in extra.items() if name == "extra_content"}


def end_tool(item: dict[str, Any], finished: ToolFinished) -> None:
    """Set the status of an item, and the error of a tool that failed."""
    if not finished.HasField("error"):
        item["status"] = "completed"
        return
    item["status"] = "failed"
    if item["type"] == OTHER_TOOL:  # an object: a text makes openai-python warn
        text = finished.error.message or "The tool failed."
        content = [{"type": "text", "text": text}]
        item["error"] = {"type": "mcp_tool_execution_error", "content": content}


def add_results(item: dict[str, Any], sources: Sequence[Source]) -> None:
    """Add what a search found to its item."""
    if item["type"] == FILE_SEARCH:
        item["results"] = [
            {
                "filename": each.title,
                "text": each.excerpt,
                "score": each.score if each.HasField("score") else None,
                **_place(each),
            }
            for each in sources
        ]
    elif item["type"] == WEB_SEARCH:
        item["action"]["sources"] = [{"type": "url", "url": each.uri} for each in sources]


def _place(source: Source) -> dict[str, Any]:
    """Return the file of a source; its page, counted from 1, and its vector store if known."""
    page = source.attributes.get("page", "")
    picture = _PICTURE.match(source.attributes.get("picture_uri", ""))
    return {
        "file_id": picture[2] if picture else file_id(source),
        "attributes": {"page": int(page)} if _PAGE.fullmatch(page) else {},
        "vector_store_id": picture[1] if picture else None,
    }


def annotations(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Return the citations of sources: of those with a web address, and of other files."""
    return [
        {"type": "url_citation", **web_citation(each)}
        if each.url
        else {
            "type": "file_citation",
            "file_id": each.file,
            "filename": each.title,
            "index": 0,
        }
        for each in citations(sources)
    ]
