"""Searches pages and looks at them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_tools_service.capabilities.pages import PageMatch, PageMatches
from heddle_tools_service.providers.knowledge.client import (
    NOT_FOUND,
    KnowledgeClient,
    failed_search,
)
from heddle_tools_service.providers.knowledge.documents import unread
from heddle_tools_service.sdk import ToolError, ToolUnavailableError

NO_PAGE = "There is no such page among those that this assistant may see."
_ADDRESS = re.compile(
    r"(?:https?://[^/\s]+)?/v1/vector_stores/(vs_[0-9a-f]{32})/files/(doc_[0-9a-f]{32})"
    r"/pages/([1-9][0-9]{0,6})"
)
_NOT_SEARCHED = "The pages of the collection {!r} were not searched"


@dataclass(frozen=True, slots=True)
class PageSearch:
    """The pages that an assistant may see; see `Pages`."""

    client: KnowledgeClient

    async def search(
        self, collections: Sequence[str], query: str, *, top_k: int, threshold: float = 0.0
    ) -> PageMatches:
        """Search the pages of all `collections` at once."""
        names = list(dict.fromkeys(collections))
        if not names:
            return PageMatches()
        request = pb.SearchPagesRequest(
            collections=names, query=query, top_k=top_k, threshold=threshold
        )
        try:
            response = await self.client.ask(self.client.service.SearchPages, request)
        except ToolError as error:
            return PageMatches(
                failures=tuple(failed_search(name, error, _NOT_SEARCHED) for name in names)
            )
        return PageMatches(
            tuple(_page(page, page.score) for page in response.pages),
            unread(response.errors, _NOT_SEARCHED),
            response.model,
            response.visual,
        )

    async def find(self, collections: Sequence[str], picture_uri: str) -> PageMatch:
        """Return the page of a picture."""
        collection, document, page = _page_of(picture_uri)
        request = pb.GetPageRequest(
            collection=collection, document=document, page=page, within=dict.fromkeys(collections)
        )
        try:
            response = await self.client.ask(self.client.service.GetPage, request)
        except ToolUnavailableError:
            raise
        except ToolError as error:
            raise ToolError(NO_PAGE, kind="no_such_page") from error
        return _page(response.page, 0.0)

    async def interpret(self, page: PageMatch, prompt: str) -> pb.InterpretPageResponse:
        """Let the vision model look at the picture of a page."""
        collection, document, number = _page_of(page.picture_uri)
        request = pb.InterpretPageRequest(
            collection=collection, document=document, page=number, prompt=prompt
        )
        try:
            return await self.client.ask(self.client.service.InterpretPage, request)
        except ToolError as error:
            if error.kind == NOT_FOUND:
                raise ToolError(NO_PAGE, kind="no_such_page") from error
            raise


def picture_uri(collection: str, document: str, page: int) -> str:
    """Return the address of a page's picture, relative to the gateway.

    Args:
        collection: The identifier of the collection.
        document: The identifier of the document.
        page: Counted from 1.
    """
    return f"/v1/vector_stores/{collection}/files/{document}/pages/{page}"


def _page_of(uri: str) -> tuple[str, str, int]:
    match = _ADDRESS.fullmatch(uri.strip())
    if match is None:
        raise ToolError(NO_PAGE, kind="no_such_page")
    return match[1], match[2], int(match[3])


def _page(page: pb.PageMatch, score: float) -> PageMatch:
    return PageMatch(
        page.collection_name,
        page.document,
        page.document_id,
        page.title,
        page.uri,
        page.page,
        score,
        page.text,
        tuple(page.figures),
        picture_uri(page.collection_id, page.document_id, page.page),
    )
