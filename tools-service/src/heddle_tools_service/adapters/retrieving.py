"""Retrieval for tools of older formats, with chunks and citations as dicts."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from heddle_tools_service.capabilities.passages import Passage, Passages
from heddle_tools_service.sdk import Source, ToolCall, ToolError
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
