"""Searches collections for passages."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_tools_service.capabilities.passages import (
    NO_OPTIONS,
    Passage,
    PassageResults,
    SearchOptions,
    stored_attributes,
)
from heddle_tools_service.providers.knowledge.client import KnowledgeClient, failed_search
from heddle_tools_service.providers.knowledge.pages import picture_uri
from heddle_tools_service.sdk import ToolError

_RERANKINGS = {
    "none": pb.RERANKING_UNSPECIFIED,
    "model": pb.RERANKING_MODEL,
}
_LIST_SECONDS = 2.0
_OPTION_OF_FIELD = {"document_time_from": "time_from", "document_time_to": "time_to"}


@dataclass(frozen=True, slots=True)
class CollectionSearch:
    """The collections that an assistant may search; see `Passages`."""

    client: KnowledgeClient

    async def search(
        self,
        collections: Sequence[str],
        query: str,
        *,
        top_k: int,
        threshold: float = 0.0,
        sections: bool = False,
        options: SearchOptions = NO_OPTIONS,
    ) -> PassageResults:
        """Search all `collections` at once."""
        names = list(dict.fromkeys(collections))
        if not names:
            return PassageResults()
        request = pb.SearchCollectionsRequest(
            collections=names,
            query=query,
            top_k=top_k,
            threshold=threshold,
            recency_weight=options.recency_weight,
            vector_weight=options.vector_weight,
            reranking=_RERANKINGS[options.reranking],
            only_relevant=options.only_relevant,
            sections=sections,
        )
        if options.time_from is not None:
            request.document_time_from.FromDatetime(options.time_from)
        if options.time_to is not None:
            request.document_time_to.FromDatetime(options.time_to)
        try:
            response = await self.client.ask(self.client.service.SearchCollections, request)
        except ToolError as error:
            return PassageResults(failures=tuple(failed_search(name, error) for name in names))
        return PassageResults(
            tuple(
                _passage(result, passage)
                for result in response.results
                for passage in result.passages
            ),
            tuple(
                failed_search(result.collection, result.error)
                for result in response.results
                if result.HasField("error")
            ),
            tuple(_warning(result) for result in response.results if result.ignored_fields),
        )

    async def have_documents(self, collections: Sequence[str]) -> bool:
        """Return whether any of `collections` contains a document; see `Passages`."""
        return any(await asyncio.gather(*map(self._has_documents, dict.fromkeys(collections))))

    async def _has_documents(self, collection: str) -> bool:
        request = pb.ListDocumentsRequest(collection=collection, page_size=1)
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                response = await self.client.ask(self.client.service.ListDocuments, request)
        except (ToolError, TimeoutError):
            return True
        return bool(response.documents)


def _warning(result: pb.CollectionPassages) -> str:
    options = ", ".join(_OPTION_OF_FIELD.get(name, name) for name in result.ignored_fields)
    return (
        f"Collection {result.collection!r} is at a knowledge-base server, which does not "
        f"heed {options}."
    )


def _passage(result: pb.CollectionPassages, passage: pb.Passage) -> Passage:
    attributes = dict(passage.attributes)
    if result.collection_id:
        attributes |= stored_attributes(result.collection_name, passage)
    return Passage(
        passage.text,
        passage.metadata.get("filename", passage.title),
        passage.uri,
        passage.similarity,
        passage.parent_text,
        attributes,
        document=passage.document,
        document_id=passage.document_id,
        chunk_id=passage.id,
        chunk_index=passage.ordinal if passage.HasField("ordinal") else None,
        page=passage.page,
        relevance=passage.relevance if passage.HasField("relevance") else None,
        picture_uri=picture_uri(result.collection_id, passage.document_id, passage.page)
        if passage.has_picture and passage.page
        else "",
        collection=result.collection,
    )
