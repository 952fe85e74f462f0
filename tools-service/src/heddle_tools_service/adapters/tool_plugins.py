"""Reads files with `plugin = ToolPlugin(definition, handler, enabled)`, functions for models."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from heddle_runtime.serving.plugins import NotAPluginError
from pydantic import ValidationError

from heddle_tools_service.adapters.legacy import legacy_tool
from heddle_tools_service.capabilities.passages import Passage, Passages
from heddle_tools_service.definitions.checks import DefinitionError
from heddle_tools_service.definitions.unsatisfiable import signature_problem
from heddle_tools_service.sdk import (
    Function,
    OfferContext,
    Source,
    Tool,
    ToolCall,
    ToolError,
    ToolResult,
)
from heddle_tools_service.sdk.definition import Run
from heddle_tools_service.tools.retrieval import as_error
from heddle_tools_service.tools.retrieve_documents import RetrieveDocumentsArguments, options_of

RetrieveFn = Callable[..., Awaitable[list[dict[str, Any]]]]


async def later(_: str, **__: object) -> list[dict[str, Any]]:
    """Stand in for the search function before a tool is called, and refuse to search.

    Raises:
        ToolError: Always.
    """
    raise ToolError("Documents are retrieved when the function is called, not before.")


def retrieving(call: ToolCall[dict[str, Any]], passages: Passages) -> RetrieveFn:
    """Return a function that searches the collections of a call's configuration."""

    async def retrieve(query: str, **options: object) -> list[dict[str, Any]]:
        try:
            arguments = RetrieveDocumentsArguments.model_validate({"query": query, **options})
        except ValidationError as error:
            wrong = sorted({str(each["loc"][0]) for each in error.errors()})
            raise ToolError(
                f"The documents cannot be searched by this {', '.join(wrong)}."
            ) from None
        config = call.config
        results = await passages.search(
            config["collections"], query, top_k=config["top_k"], options=options_of(arguments)
        )
        if results.failures and not results.passages:
            raise as_error(results.failures[0])
        if results.warnings:  # such a plugin cannot report what the search ignored
            raise ToolError(results.warnings[0])
        return [_chunk(passage, number) for number, passage in enumerate(results.passages)]

    return retrieve


def sources_of(citations: Iterable[Mapping[str, Any]]) -> list[Source]:
    """Return the sources of an answer, as clients read them."""
    return [
        Source(
            title=str(each.get("doc_title") or "Untitled"),
            excerpt=str(each.get("content_preview") or ""),
            score=each["score"] if isinstance(each.get("score"), int | float) else None,
            attributes={
                name: str(each[name])
                for name in ("chunk_id", "document_id", "chunk_index")
                if name in each
            },
        )
        for each in citations
    ]


def _chunk(passage: Passage, number: int) -> dict[str, Any]:
    document = passage.document_id or passage.uri or passage.title
    return {
        "id": passage.chunk_id or f"{document}#{number}",
        "document_id": document,
        "doc_title": passage.title,
        "chunk_index": number if passage.chunk_index is None else passage.chunk_index,
        "content": passage.text,
        "similarity": passage.score,
    }


_CONFIG = {
    "type": "object",
    "properties": {
        "collections": {
            "type": "array",
            "items": {"type": "string"},
            "default": [],
            "description": "What it may search. With none, it knows of no documents.",
        },
        "top_k": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
            "default": 5,
            "description": "The most passages that a search finds in each.",
        },
    },
    "additionalProperties": False,
}


@dataclass
class ToolContext:
    """The context of a conversation, as a handler receives it."""

    retrieve_fn: RetrieveFn | None = None
    user_token: str = ""
    """Always empty: tools receive no credentials of users."""
    user_id: str = ""
    has_documents: bool = False


@dataclass
class ToolEvent:
    """Data that a handler may return with the name of its tool."""

    tool_name: str
    data: Any


@dataclass
class ToolPlugin:
    """A function that models call."""

    definition: dict[str, Any]
    """A tool in OpenAI's format."""
    handler: Callable[..., Awaitable[Any]]
    """Receives the arguments, the context and `on_status`; returns text or a JSON value."""
    enabled: Callable[[ToolContext], bool] = lambda _: True


def read(module: ModuleType) -> Iterator[Tool]:
    """Yield the tool of a module, if it has this format."""
    plugin = getattr(module, "plugin", None)
    if plugin is None:
        return
    if not isinstance(plugin, ToolPlugin):
        raise NotAPluginError(
            "plugin is not a ToolPlugin", "Make it one: ToolPlugin(definition, handler, enabled)."
        )
    if not inspect.iscoroutinefunction(plugin.handler):
        raise DefinitionError("The handler is not async. Make it one: async def handler(...).")
    if inspect.iscoroutinefunction(plugin.enabled):  # what it returns would count as true
        raise DefinitionError("enabled is async. Make it an ordinary function: def enabled(...).")
    if problem := signature_problem(plugin.handler, "args", "ctx", on_status="on_status"):
        raise DefinitionError(f"The handler {problem}. Write async def handler(args, ctx, ...).")
    if problem := signature_problem(plugin.enabled, "ctx"):
        raise DefinitionError(f"enabled {problem}. Write def enabled(ctx).")
    function = plugin.definition.get("function")
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise DefinitionError("The definition names no function. Add function.name to it.")
    name = function["name"]
    description = str(function.get("description", ""))
    yield legacy_tool(
        module,
        name,
        description,
        _calling(plugin.handler),
        schema=_CONFIG,
        modes=("function",),
        function=Function(name, description, dict(function.get("parameters") or {}), dict),
        enabled=lambda offer: plugin.enabled(_context(offer, later)),
        obstacle=_obstacle(plugin),
    )


def _obstacle(plugin: ToolPlugin) -> str:
    """Return why `enabled` switches a plugin off in every conversation; empty if it does not."""
    errors = set()
    for user in ("", "user@example.org"):
        for documents in (True, False):
            context = ToolContext(later if documents else None, "", user, documents)
            try:
                if plugin.enabled(context):
                    return ""
            except Exception as error:  # noqa: BLE001 - an author's function can raise anything
                errors.add(f"{type(error).__name__}: {error}")
    reason = f"raises {errors.pop()}" if errors else "is false"
    return (
        f"enabled(ctx) {reason}, with and without a user and documents. Name the environment "
        "variables that it reads in HEDDLE_TOOLS_PLUGIN_ENVIRONMENT and restart the tool service. "
        "Do not require user_token: it is always empty."
    )


def _calling(handler: Callable[..., Awaitable[Any]]) -> Run:
    async def run(call: ToolCall[dict[str, Any]], passages: Passages) -> ToolResult:
        async def on_status(message: str) -> None:
            call.status(message)

        offer = OfferContext(call.config, call.assistant, call.caller)
        context = _context(offer, retrieving(call, passages))
        return _result(await handler(call.arguments, context, on_status=on_status))

    return run


def _context(offer: OfferContext[dict[str, Any]], retrieve: RetrieveFn) -> ToolContext:
    has_documents = bool(offer.config["collections"])
    return ToolContext(
        retrieve_fn=retrieve if has_documents else None,
        user_id=offer.caller.subject,
        has_documents=has_documents,
    )


def _result(output: object) -> ToolResult:
    if isinstance(output, ToolEvent):
        output = output.data
    if isinstance(output, str):
        return ToolResult(output)
    if isinstance(output, Mapping) and isinstance(output.get("formatted_text"), str):
        return ToolResult(
            output["formatted_text"], sources_of(output.get("citation_sources") or ())
        )
    return ToolResult.json(output)
