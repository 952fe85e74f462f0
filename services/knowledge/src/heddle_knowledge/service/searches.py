"""Calls that find passages and pages."""

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import NotFoundError
from heddle_runtime.server_interceptor import Context

from heddle_knowledge.records import EMBEDDED
from heddle_knowledge.service.calls import Calls
from heddle_knowledge.service.failures import known_failures
from heddle_knowledge.service.filtering import wanted, wanted_pages
from heddle_knowledge.service.limits import check_page_search, check_search
from heddle_knowledge.service.messages import page_message, passage_message
from heddle_knowledge.service.requests import MODES, search_options

_DEFAULT_TOP_K = 5
_DEFAULT_PAGES = 3
_LONGEST_QUERY = 8_000


class SearchCalls(Calls):
    """The part of the contract about finding passages and pages."""

    async def SearchCollection(
        self, request: pb.SearchCollectionRequest, context: Context
    ) -> pb.SearchCollectionResponse:
        """Find passages."""
        check_search(request)
        where = wanted(request)
        with known_failures():
            store, collection = await self._readable(request.collection)
            found = await store.passages.search(
                collection.id,
                request.query[:_LONGEST_QUERY],
                top_k=request.top_k or _DEFAULT_TOP_K,
                threshold=request.threshold,
                mode=MODES[request.mode],
                where=where,
                options=search_options(request),
            )
            return pb.SearchCollectionResponse(
                passages=[passage_message(collection, each) for each in found]
            )

    async def SearchPages(
        self, request: pb.SearchPagesRequest, context: Context
    ) -> pb.SearchPagesResponse:
        """Find pages."""
        check_page_search(request)
        where = wanted_pages(request)
        with known_failures():
            store, collection = await self._readable(request.collection)
            query = request.query[:_LONGEST_QUERY]
            top_k = request.top_k or _DEFAULT_PAGES
            found = await store.pages.search(collection.id, query, top_k=top_k, where=where)
            model = store.pages.model
            return pb.SearchPagesResponse(
                pages=[page_message(collection, page) for page in found],
                model=model.name,
                visual=model.visual,
            )

    async def GetPagePicture(
        self, request: pb.GetPagePictureRequest, context: Context
    ) -> pb.GetPagePictureResponse:
        """Get the picture of one page."""
        with known_failures():
            store, collection = await self._readable(request.collection)
            if collection.backend != EMBEDDED:
                raise NotFoundError(
                    f"There are no pictures of pages in the collection {collection.name!r}."
                )
            name = await store.documents.name_of(collection.id, request.document)
            found = await store.pages.picture(collection.id, name, request.page)
            return pb.GetPagePictureResponse(
                data=found.data, media_type=found.MEDIA_TYPE, sha256=found.sha256
            )
