"""Calls about documents."""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.contract.limits import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from heddle_runtime.contract.paging import cut, page_size, read_token, write_token
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.identity.call_metadata import Context

from heddle_knowledge.audit.recording import content_change
from heddle_knowledge.collection.types import SAVING, Collection, Ingested, IngestProgress
from heddle_knowledge.completed_changes import completed, uninterrupted
from heddle_knowledge.service.calls import Calls, refuse
from heddle_knowledge.service.limits import ingestion_violations
from heddle_knowledge.service.messages import document_message, passage_message
from heddle_knowledge.service.metrics import counted_ingestion
from heddle_knowledge.service.requests import document_time

_ORDINAL = re.compile(r"[0-9]{1,9}")


class DocumentCalls(Calls):
    """The part of the contract about documents and their passages."""

    async def IngestDocument(
        self, request: pb.IngestDocumentRequest, context: Context
    ) -> AsyncGenerator[pb.IngestDocumentResponse]:
        """Stream the progress of the ingestion, then the stored document."""
        refuse(ingestion_violations(request), "The document cannot be ingested.")
        store, collection = await self._changeable(request.collection)
        events = store.documents.ingest(
            collection.id,
            request.name,
            request.data,
            media_type=request.media_type,
            uri=request.uri,
            metadata=dict(request.metadata),
            document_time=document_time(request),
        )
        is_saving = False
        async with aclosing(counted_ingestion(events)) as counted:
            while True:
                responding = self._next_response(collection, counted)
                response = await (completed(responding, None) if is_saving else responding)
                if response is None:
                    return
                yield response
                is_saving = response.progress.stage == SAVING

    async def _next_response(
        self, collection: Collection, events: AsyncIterator[IngestProgress | Ingested]
    ) -> pb.IngestDocumentResponse | None:
        """Return the next response, None after the last one; store the event of a change."""
        event = await anext(events, None)
        if event is None:
            return None
        if isinstance(event, IngestProgress):
            progress = pb.IngestProgress(stage=event.stage, done=event.done, total=event.total)
            return pb.IngestDocumentResponse(progress=progress)
        stored = await (await self._store()).documents.get(collection.id, event.document)
        if not event.unchanged:
            change = content_change("document.ingest", collection, document=event.document)
            await self._backends.audit.add(change)
        ingested = pb.Ingested(
            document=document_message(collection, stored),
            replaced=event.replaced,
            unchanged=event.unchanged,
        )
        return pb.IngestDocumentResponse(ingested=ingested)

    async def GetDocument(
        self, request: pb.GetDocumentRequest, context: Context
    ) -> pb.GetDocumentResponse:
        """Get one document by its name or its identifier."""
        store, collection = await self._readable(request.collection)
        name = await store.documents.name_of(collection.id, request.name)
        document = await store.documents.get(collection.id, name)
        return pb.GetDocumentResponse(document=document_message(collection, document))

    async def ListPassages(
        self, request: pb.ListPassagesRequest, context: Context
    ) -> pb.ListPassagesResponse:
        """List one page of the passages of a document, all of one version of it."""
        size = page_size(request.page_size, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)
        store, collection = await self._readable(request.collection)
        name = await store.documents.name_of(collection.id, request.document)
        document = await store.documents.get(collection.id, name)
        version = document.ingested_at.isoformat()
        begun, _, first = read_token(request.page_token).partition("/")
        at = int(first) if _ORDINAL.fullmatch(first) else max(0, request.first_ordinal)
        items = await store.passages.listed(collection.id, document, at, size)
        if begun not in {"", version} or not (items or at >= document.chunks):
            raise InvalidRequestError(
                f"{name!r} was ingested again meanwhile. List its passages from the first."
            )
        more = at + size < document.chunks
        return pb.ListPassagesResponse(
            passages=[passage_message(collection, each) for each in items],
            next_page_token=write_token(f"{version}/{at + size}") if more else "",
            passage_count=document.chunks,
        )

    async def ListDocuments(
        self, request: pb.ListDocumentsRequest, context: Context
    ) -> pb.ListDocumentsResponse:
        """List one page of documents."""
        size = page_size(request.page_size, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)
        store, collection = await self._readable(request.collection)
        after = read_token(request.page_token)
        items = await store.documents.listed(collection.id, after, size + 1)
        shown, token = cut(items, size, lambda document: document.name)
        documents = [document_message(collection, each) for each in shown]
        return pb.ListDocumentsResponse(documents=documents, next_page_token=token)

    @uninterrupted
    async def DeleteDocument(
        self, request: pb.DeleteDocumentRequest, context: Context
    ) -> pb.DeleteDocumentResponse:
        """Delete one document."""
        store, collection = await self._changeable(request.collection)
        name = await store.documents.name_of(collection.id, request.name)
        await store.documents.delete(collection.id, name)
        change = content_change("document.delete", collection, document=name)
        await self._backends.audit.add(change)
        return pb.DeleteDocumentResponse()
