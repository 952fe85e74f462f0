"""Calls about pages."""

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from google.rpc.status_pb2 import Status
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.contract.limits import DEFAULT_SHORT_PAGE_SIZE, MAX_SHORT_PAGE_SIZE
from heddle_runtime.contract.paging import page_size, read_token, write_token
from heddle_runtime.errors import NotFoundError
from heddle_runtime.identity.call_metadata import Context

from heddle_knowledge.collection.access import Reader, find, may_read, meant
from heddle_knowledge.collection.types import EMBEDDED, Collection, Document
from heddle_knowledge.errors import no_collection
from heddle_knowledge.service.calls import (
    MAX_QUERY_CHARACTERS,
    Calls,
    check_collections,
    check_range,
    refuse,
)
from heddle_knowledge.service.failures import reason
from heddle_knowledge.service.messages import page_message
from heddle_knowledge.service.metrics import PAGES, count_if_empty, describe_search, measured_search

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.pages.shapes import DrawnPage
    from heddle_knowledge.store import KnowledgeStore

_PAGE = re.compile(r"[1-9][0-9]{0,6}")
_DEFAULT_TOP_K = 3
_MAX_PAGES = 50
_MAX_PROMPT_CHARACTERS = 16_000


class PageCalls(Calls):
    """The part of the contract about pages."""

    async def SearchPages(
        self, request: pb.SearchPagesRequest, context: Context
    ) -> pb.SearchPagesResponse:
        """Search the pages of all collections at once; those that fail have errors of their own."""
        check_collections(request.collections)
        _check(request)
        reader = self._reader()
        store = await self._store()
        top_k = request.top_k or _DEFAULT_TOP_K
        query = request.query[:MAX_QUERY_CHARACTERS]

        async def search(reference: str) -> list[pb.PageMatch]:
            _, collection = await self._meant(reader.person, reference)
            with measured_search(PAGES, reason):
                matches = await store.pages.search(collection.id, query, top_k=top_k)
                describe_search(collection.public_id, top_k, matches)
            count_if_empty(PAGES, matches)
            return [
                page_message(collection, document, it.stored, score=it.score)
                for document, it in matches
                if it.score >= request.threshold
            ]

        references = dict.fromkeys(request.collections)
        results = await asyncio.gather(*(self._attempt(it, search) for it in references))
        response = pb.SearchPagesResponse()
        pages: list[pb.PageMatch] = []
        for reference, result in zip(references, results, strict=True):
            if isinstance(result, Status):
                response.errors.add(collection=reference, error=result)
            else:
                pages += result
        response.pages.extend(sorted(pages, key=lambda page: -page.score)[:top_k])
        if len(response.errors) < len(results):
            response.model = store.pages.model.name
            response.visual = store.pages.model.visual
        return response

    async def ListPages(
        self, request: pb.ListPagesRequest, context: Context
    ) -> pb.ListPagesResponse:
        """List some pages of a document."""
        size = page_size(request.page_size, DEFAULT_SHORT_PAGE_SIZE, MAX_SHORT_PAGE_SIZE)
        store, collection = await self._readable(request.collection)
        name = await store.documents.name_of(collection.id, request.document)
        document = await store.documents.get(collection.id, name)
        token = read_token(request.page_token)
        first = int(token) if _PAGE.fullmatch(token) else max(1, request.first_page)
        last = min(first + size - 1, document.pages)
        pages = await store.pages.listed(collection.id, document, first, last)
        return pb.ListPagesResponse(
            pages=[
                pb.DocumentPage(
                    page=each.page,
                    text=each.text,
                    has_picture=each.has_picture,
                    passage_count=each.passages,
                )
                for each in pages
            ],
            next_page_token=write_token(str(last + 1)) if last < document.pages else "",
            page_count=document.pages,
        )

    async def GetPage(self, request: pb.GetPageRequest, context: Context) -> pb.GetPageResponse:
        """Get what was read on one page."""
        reader = self._reader()
        store = await self._store()
        collection = await _within(store, reader, request.collection, request.within)
        document, page = await _stored_page(store, collection, request.document, request.page)
        return pb.GetPageResponse(page=page_message(collection, document, page))

    async def InterpretPage(
        self, request: pb.InterpretPageRequest, context: Context
    ) -> pb.InterpretPageResponse:
        """Let the vision model look at the picture of one page."""
        self._backends.grants.require("run_tools")
        reader = self._reader()
        store = await self._store()
        collection = await _within(store, reader, request.collection, ())
        document, page = await _stored_page(store, collection, request.document, request.page)
        picture = await store.pages.picture(collection.id, document.name, request.page)
        prompt = request.prompt[:_MAX_PROMPT_CHARACTERS]
        interpret = self._backends.interpreter.interpret
        return await interpret(document.title, page, picture.data, prompt)

    async def GetPagePicture(
        self, request: pb.GetPagePictureRequest, context: Context
    ) -> pb.GetPagePictureResponse:
        """Get the picture of one page."""
        person = self._reader().person
        store, collection = await self._meant(person, request.collection)
        if collection.backend != EMBEDDED:
            raise NotFoundError(
                f"There are no pictures of pages in the collection {collection.name!r}."
            )
        name = await store.documents.name_of(collection.id, request.document)
        if request.HasField("unchanged_since"):
            document = await store.documents.get(collection.id, name)
            if int(document.ingested_at.timestamp()) > request.unchanged_since.seconds:
                raise NotFoundError(f"{name!r} has changed since.")
        picture = await store.pages.picture(collection.id, name, request.page)
        return pb.GetPagePictureResponse(
            data=picture.data, media_type=picture.MEDIA_TYPE, sha256=picture.sha256
        )


async def _within(
    store: "KnowledgeStore", reader: Reader, reference: str, within: "Sequence[str]"
) -> "Collection":
    """Return a collection that is one of `within`, if this names any.

    A page's address names its collection by the identifier, and `within` may do so by the name.

    Raises:
        CollectionNotFoundError: There is none that the reader may read.
    """
    person = reader.person
    collection = meant(await store.collections.named(reference), person, reference)
    for each in within:
        named = find(
            await store.collections.named(each), each, person, lambda it: may_read(person, it)
        )
        if named is not None and named.id == collection.id:
            return collection
    if within:
        raise no_collection(reference)
    return collection


async def _stored_page(
    store: "KnowledgeStore", collection: "Collection", reference: str, page: int
) -> "tuple[Document, DrawnPage]":
    name = await store.documents.name_of(collection.id, reference)
    document = await store.documents.get(collection.id, name)
    return document, await store.pages.get(collection.id, name, page)


def _check(request: pb.SearchPagesRequest) -> None:
    violations = [
        *check_range(request, "top_k", 0, _MAX_PAGES),
        *check_range(request, "threshold", 0.0, 1.0),
    ]
    refuse(violations, "The search cannot be made.")
