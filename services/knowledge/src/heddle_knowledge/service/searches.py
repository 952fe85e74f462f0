"""Calls that find passages."""

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.server_interceptor import Context

from heddle_knowledge.service.calls import Calls
from heddle_knowledge.service.failures import known_failures
from heddle_knowledge.service.filtering import search_condition
from heddle_knowledge.service.limits import check_search
from heddle_knowledge.service.messages import passage_message
from heddle_knowledge.service.requests import MODES, search_options

_DEFAULT_TOP_K = 5
_LONGEST_QUERY = 8_000


class SearchCalls(Calls):
    """The part of the contract about finding passages."""

    async def SearchCollection(
        self, request: pb.SearchCollectionRequest, context: Context
    ) -> pb.SearchCollectionResponse:
        """Find passages."""
        check_search(request)
        where = search_condition(request)
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
