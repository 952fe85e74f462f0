"""Calls about collections."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.contract.paging import page
from heddle_runtime.identity.call_metadata import Context, caller

from heddle_knowledge.audit.recording import collection_change
from heddle_knowledge.chunking.options import DEFAULT
from heddle_knowledge.collection.access import (
    Person,
    caller_of,
    check_former_id,
    check_sharing,
    may_change,
    may_read,
)
from heddle_knowledge.collection.types import EMBEDDED, Collection
from heddle_knowledge.completed_changes import uninterrupted
from heddle_knowledge.engines.languages import IN_PAIRS, NO_LANGUAGE, STEMMED
from heddle_knowledge.errors import CollectionNotFoundError
from heddle_knowledge.external.collections import ENGINES
from heddle_knowledge.pages.packages import installed
from heddle_knowledge.service.calls import Calls, refuse
from heddle_knowledge.service.limits import collection_violations, update_violations
from heddle_knowledge.service.messages import collection_message
from heddle_knowledge.service.requests import changes, sharing_of, treatment

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.store import KnowledgeStore


class CollectionCalls(Calls):
    """The part of the contract about collections."""

    async def GetCollectionOptions(
        self, request: pb.GetCollectionOptionsRequest, context: Context
    ) -> pb.GetCollectionOptionsResponse:
        """Return the options for a new collection."""
        handlings = [pb.PAGE_HANDLING_TEXT, pb.PAGE_HANDLING_PICTURES]
        person = caller_of(caller().identity)
        if installed():
            handlings.append(pb.PAGE_HANDLING_SEARCH)
        models = [each.info().model for each in await self._backends.embedders()]
        chosen = await self._backends.external.embedding_model(person.organization)
        return pb.GetCollectionOptionsResponse(
            embedding_models=sorted(models, key=lambda model: model != chosen),
            reranking_model=self._backends.reranking_model,
            languages=[*sorted({*STEMMED, *IN_PAIRS}), NO_LANGUAGE],
            page_handlings=handlings,
            default_chunking=pb.Chunking(
                target_characters=DEFAULT.target,
                overlap_characters=DEFAULT.overlap,
                parent_characters=DEFAULT.parent,
            ),
            search_servers=await self._backends.external.servers(person.organization),
        )

    @uninterrupted
    async def CreateCollection(
        self, request: pb.CreateCollectionRequest, context: Context
    ) -> pb.CreateCollectionResponse:
        """Create a collection of the caller, or register one of another server."""
        requested, person = request.collection, caller_of(caller().identity)
        violations = collection_violations(requested, self._backends.sources)
        refuse(violations, "The collection cannot be made.")
        check_sharing(person, sharing_of(requested.sharing))
        check_former_id(person, requested)
        store = await self._store()
        new = store.collections.new(
            requested.name,
            title=requested.title,
            backend=requested.backend or EMBEDDED,
            settings=dict(requested.settings),
            owner=person.name,
            organization=person.organization,
            embedding_model=requested.embedding_model
            or await self._default_model(requested, person),
            has_vectors=_has_vectors(requested),
            **treatment(requested),
        )
        if new.backend in ENGINES:
            await self._backends.external.check(new)
        created = await store.collections.add(new)
        await self._backends.audit.add(collection_change("create", None, created))
        return pb.CreateCollectionResponse(collection=await _counted(store, created))

    async def _default_model(self, requested: pb.Collection, person: Person) -> str:
        """Return the model that the organisation chose for collections that Heddle holds."""
        if requested.backend not in {"", EMBEDDED}:
            return ""
        return await self._backends.external.embedding_model(person.organization)

    async def GetCollection(
        self, request: pb.GetCollectionRequest, context: Context
    ) -> pb.GetCollectionResponse:
        """Get one collection that the caller may read."""
        store, collection = await self._readable(request.name)
        return pb.GetCollectionResponse(collection=await _counted(store, collection))

    async def ListCollections(
        self, request: pb.ListCollectionsRequest, context: Context
    ) -> pb.ListCollectionsResponse:
        """List one page of the collections that the caller may read."""
        person = caller_of(caller().identity)
        store = await self._store()
        known = (await store.collections.all()).values()
        text = request.text.casefold()
        readable = (it for it in known if may_read(person, it) and _has(it, text))
        items, token = page(
            readable, lambda it: f"{it.name}\0{it.id}", request.page_size, request.page_token
        )
        counted = await asyncio.gather(*(_if_there(store, item) for item in items))
        return pb.ListCollectionsResponse(collections=filter(None, counted), next_page_token=token)

    @uninterrupted
    async def UpdateCollection(
        self, request: pb.UpdateCollectionRequest, context: Context
    ) -> pb.UpdateCollectionResponse:
        """Change what a collection is called, who may read it, or what is noted about it."""
        refuse(update_violations(request), "The collection cannot be changed so.")
        person = caller_of(caller().identity)
        store, collection = await self._changeable(request.name)
        if request.sharing:
            check_sharing(person, sharing_of(request.sharing))
        changed = replace(collection, **changes(request, collection))
        await store.collections.change(changed)
        await self._backends.audit.add(collection_change("update", collection, changed))
        return pb.UpdateCollectionResponse(collection=await _counted(store, changed))

    async def GetCollectionStatistics(
        self, request: pb.GetCollectionStatisticsRequest, context: Context
    ) -> pb.GetCollectionStatisticsResponse:
        """Count what a collection holds."""
        store, collection = await self._readable(request.collection)
        if collection.backend != EMBEDDED:
            return pb.GetCollectionStatisticsResponse()
        documents = await store.documents.all(collection.id)
        return pb.GetCollectionStatisticsResponse(
            document_count=len(documents),
            passage_count=sum(each.chunks for each in documents),
            document_bytes=sum(each.size for each in documents),
            page_count=await store.pages.count_pictures(collection.id),
        )

    @uninterrupted
    async def DeleteCollection(
        self, request: pb.DeleteCollectionRequest, context: Context
    ) -> pb.DeleteCollectionResponse:
        """Delete a collection with everything in it."""
        store, collection = await self._changeable(request.name)
        await store.collections.delete(collection.id)
        await self._backends.forget_files(collection.id)
        await self._backends.audit.add(collection_change("delete", collection, None))
        return pb.DeleteCollectionResponse()


def _has_vectors(requested: pb.Collection) -> bool:
    """Return whether questions to a new collection are embedded here."""
    if engine := ENGINES.get(requested.backend):
        return bool(requested.embedding_model) or not engine.embeds
    return requested.backend in {"", EMBEDDED}


async def _if_there(store: "KnowledgeStore", collection: Collection) -> pb.Collection | None:
    try:
        return await _counted(store, collection)
    except CollectionNotFoundError:  # deleted since it was found
        return None


async def _counted(store: "KnowledgeStore", collection: Collection) -> pb.Collection:
    here = collection.backend == EMBEDDED
    size = await store.collections.size(collection.id) if here else None
    changeable = may_change(caller_of(caller().identity), collection)
    return collection_message(collection, size, changeable=changeable)


def _has(collection: Collection, text: str) -> bool:
    return text in collection.name.casefold() or text in collection.title.casefold()
