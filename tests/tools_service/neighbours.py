"""Runs one tool with the passages, pages and model of the test, and none that the test omits."""

from typing import Any

from heddle_tools_service.capabilities.pages import PageMatch, Pages
from heddle_tools_service.capabilities.passages import Passage, Passages
from heddle_tools_service.capabilities.small_model import Generate, SmallModel
from heddle_tools_service.capabilities.web_search import WebSearch
from heddle_tools_service.sdk import Tool, ToolError
from heddle_tools_service.testing import Outcome, ScriptedPages, ScriptedPassages
from heddle_tools_service.testing import run_tool as run_with_capabilities


async def run_tool(
    tool: Tool,
    *args: Any,
    passages: ScriptedPassages | None = None,
    pages: ScriptedPages | None = None,
    model: Generate | None = None,
    web: object = None,
    seconds: float = 5,
    **options: Any,
) -> Outcome:
    """Run a tool as a function with `arguments`; without them, as one that fills a slot."""
    capabilities: dict[type, object] = {
        Passages: passages or ScriptedPassages(),
        Pages: pages or ScriptedPages(),
        SmallModel: SmallModel(model, seconds),
    }
    if web is not None:
        capabilities[WebSearch] = web
    return await run_with_capabilities(
        tool, *args, capabilities=capabilities, seconds=seconds, **options
    )


async def failure_of(tool: Tool, *args: Any, **options: Any) -> ToolError:
    """Return how a tool gives up."""
    try:
        outcome = await run_tool(tool, *args, **options)
    except ToolError as error:
        return error
    raise AssertionError(f"the tool does not give up: {outcome}")


def passage(text: str, number: int = 0, **more: Any) -> Passage:
    """Return a passage as the knowledge store tells it."""
    known = {
        "title": "Manual",
        "uri": "http://manual/",
        "score": 0.5,
        "document": "manual.pdf",
        "document_id": "doc_1",
        "chunk_id": f"doc_1:{number}",
        "chunk_index": number,
        "page": number + 1,
        "relevance": 0.75,
    }
    return Passage(text, **{**known, **more})


def page(number: int, text: str = "", **more: Any) -> PageMatch:
    """Return a page of the same document."""
    known = {
        "collection": "AssetManual",
        "document": "manual.pdf",
        "document_id": "doc_1",
        "title": "Manual",
        "uri": "http://manual/",
        "score": 0.9,
        "picture_uri": f"/v1/vector_stores/vs_1/files/doc_1/pages/{number}",
    }
    return PageMatch(page=number, text=text, **{**known, **more})
