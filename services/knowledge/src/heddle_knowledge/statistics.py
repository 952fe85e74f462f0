"""Counts what a collection holds."""

from collections import Counter

from heddle_knowledge.collection_handle import CollectionHandle
from heddle_knowledge.records import Document, Statistics
from heddle_knowledge.tables import list_documents

_PAGE = 1_000


async def counted(handle: CollectionHandle) -> Statistics:
    """Return what an open collection holds, read document by document.

    Raises:
        CollectionNotFoundError: It was deleted meanwhile.
        StorageError: It cannot be read.
    """
    documents: list[Document] = []
    async with handle.using():
        while page := await list_documents(
            handle.table, documents[-1].name if documents else "", _PAGE
        ):
            documents += page
        stored = await handle.table.size()
    return Statistics(
        documents=len(documents),
        chunks=sum(each.chunks for each in documents),
        document_bytes=sum(each.size for each in documents),
        stored_bytes=stored,
        by_media_type=Counter(each.media_type for each in documents),
        last_ingested_at=max((each.ingested_at for each in documents), default=None),
    )
