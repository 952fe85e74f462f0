"""How a document gets into a collection: read, cut, embed, then one commit."""

import asyncio
import dataclasses
import hashlib
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from types import MappingProxyType

from heddle_tools_service.knowledge import chunks as cutting
from heddle_tools_service.knowledge.documents import LARGEST_DOCUMENT, media_type_of
from heddle_tools_service.knowledge.embedding import Embedder, WordEmbedder
from heddle_tools_service.knowledge.errors import InvalidInputError, UnreadableDocumentError
from heddle_tools_service.knowledge.graph.graphs import CollectionGraph
from heddle_tools_service.knowledge.names import check_document_name
from heddle_tools_service.knowledge.parsing import Parser
from heddle_tools_service.knowledge.records import Document, Ingested, IngestProgress
from heddle_tools_service.knowledge.reuse import EmbeddedText, known_texts
from heddle_tools_service.knowledge.shelf import Shelf
from heddle_tools_service.knowledge.tables import (
    Version,
    document_rows,
    find_document,
    indexed_text,
    replace_document,
    update_labels,
)

_GROUP = 32
"""Chunks per request to the embedder: a progress report every two seconds or so."""
_LARGEST_METADATA = 512 * 1024
_LONGEST_URI = 2_048


@dataclass(frozen=True)
class Source:
    """A document as it arrives.

    Attributes:
        name: Unique in its collection.
        data: The file.
        media_type: Its type; empty: by the name.
        uri: Where people can find it; may be empty.
        metadata: What belongs to it.
        time: The time that it is of, with a zone; None: as the document says.
    """

    name: str
    data: bytes
    media_type: str
    uri: str
    metadata: Mapping[str, str]
    time: datetime | None = None

    @cached_property
    def sha256(self) -> str:
        """Of its bytes, in hexadecimal. Large files take long: ask for it in a thread first."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def is_pdf(self) -> bool:
        """Whether it says that it is a PDF."""
        kind = (self.media_type or media_type_of(self.name)).partition(";")[0]
        return kind.strip().lower() == "application/pdf"

    def check(self) -> None:
        """Refuse what could not be stored.

        Raises:
            InvalidInputError: The name, the URI or the metadata breaks a rule.
            UnreadableDocumentError: It is too large.
        """
        check_document_name(self.name)
        if len(self.data) > LARGEST_DOCUMENT:
            raise UnreadableDocumentError(
                f"{self.name!r} has {len(self.data):,} bytes; at most {LARGEST_DOCUMENT:,} can be "
                "read. Split it into smaller documents."
            )
        try:
            labels = json.dumps(dict(self.metadata), ensure_ascii=False).encode()
            uri = self.uri.encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                f"The metadata or URI of {self.name!r} is not valid Unicode. Encode it properly."
            ) from error
        if len(labels) > _LARGEST_METADATA or len(uri) > _LONGEST_URI:
            raise InvalidInputError(
                f"The metadata of {self.name!r} may have {_LARGEST_METADATA:,} bytes and its URI "
                f"{_LONGEST_URI:,}. Leave something out."
            )


async def ingest(
    shelf: Shelf,
    source: Source,
    *,
    parser: Parser,
    embedder: Embedder,
    graph: CollectionGraph | None = None,
    scanned: Mapping[int, str] = MappingProxyType({}),
) -> AsyncGenerator[IngestProgress | Ingested]:
    """Bring a document into a collection, new or in place of the one of its name.

    Until the last event nothing has changed; with it, the document is on disk and found. Work of
    different documents overlaps; only the commits take turns. A passage whose text an earlier
    version has is not embedded again.

    Args:
        shelf: The collection.
        source: The document.
        parser: Reads and cuts it.
        embedder: Makes the vectors.
        graph: Of the collection, if it has one.
        scanned: The texts of pages that have no text layer, by their numbers from 1.

    Raises:
        InvalidInputError: See `Source.check`.
        UnreadableDocumentError: No text can be taken from it.
        EmbeddingError: The embedder failed.
        CollectionNotFoundError: The collection was deleted meanwhile.
        StorageError: The commit failed.
    """
    source.check()
    version = await asyncio.to_thread(_version, shelf, source)
    async with shelf.using():
        present = await find_document(shelf.table, source.name)
    sha256 = version.document.sha256
    undrawn = graph is not None and await graph.lacks(source.name, sha256)
    if present and present.fingerprint == version.fingerprint and not undrawn:
        old, new = present.document, version.document
        if (old.uri, old.metadata) == (new.uri, new.metadata):
            yield Ingested(source.name, old.chunks, replaced=False, unchanged=True)
            return
        async with shelf.writing():
            relabelled = await update_labels(shelf.table, version)
        if relabelled:
            yield Ingested(source.name, old.chunks, replaced=True, unchanged=False)
            return
    yield IngestProgress("parsing", 0, 1)
    parsed = await parser.parse(
        source.data,
        media_type=version.document.media_type,
        name=source.name,
        chunking=shelf.collection.chunking,
        scanned=scanned,
    )
    chunks = parsed.chunks
    yield IngestProgress("parsing", 1, 1)
    texts = [indexed_text(chunk) for chunk in chunks]
    words = shelf.collection.late_interaction
    async with shelf.using():
        known = await known_texts(shelf.table, source.name, words=words) if present else {}
    changed = [text for text in dict.fromkeys(texts) if text not in known]
    kept = len(texts) - len(changed)
    for start in range(0, len(changed), _GROUP):
        yield IngestProgress("embedding", kept + start, len(texts))
        group = changed[start : start + _GROUP]
        known |= zip(group, await _embedded(embedder, group, words=words), strict=True)
    yield IngestProgress("embedding", len(texts), len(texts))
    if graph is not None:
        async with aclosing(graph.draw(source.name, sha256, chunks)) as drawing:
            async for done in drawing:
                yield IngestProgress("relating", done, len(chunks))
    yield IngestProgress("saving", 0, 1)
    async with shelf.writing():
        # Stamped under the lock: of two versions the later commit has the later time.
        now = datetime.now(UTC)
        document = replace(
            version.document,
            title=parsed.title,
            chunks=len(chunks),
            pages=parsed.pages,
            ingested_at=now,
            document_time=source.time or parsed.time or now,
        )
        whole = Version(document, version.fingerprint)
        rows = await asyncio.to_thread(
            document_rows,
            whole,
            chunks,
            [known[text] for text in texts],
            shelf.collection.id,
        )
        replaced = await replace_document(shelf.table, source.name, rows)
    if graph is not None:
        await graph.settle(source.name, present.document.sha256 if present else "", sha256)
    yield Ingested(source.name, len(chunks), replaced=replaced, unchanged=False)


async def _embedded(
    embedder: Embedder, texts: Sequence[str], *, words: bool
) -> Sequence[EmbeddedText]:
    """Embed texts, and their words if these are kept."""
    if words and isinstance(embedder, WordEmbedder):
        return list(map(EmbeddedText, *await embedder.embed_with_words(texts)))
    return list(map(EmbeddedText, await embedder.embed(texts, "passage")))


def _version(shelf: Shelf, source: Source) -> Version:
    """Describe what is about to be stored, as far as it is known before reading it."""
    media_type = source.media_type or media_type_of(source.name)
    collection = shelf.collection
    made_by = (
        source.sha256,
        media_type,
        str(cutting.REVISION),
        collection.model,
        str(collection.dim),
        collection.revision,
        *map(str, dataclasses.astuple(collection.chunking)),
        source.time.isoformat() if source.time else "",
    )
    document = Document(
        name=source.name,
        title=source.name,
        uri=source.uri,
        media_type=media_type,
        sha256=source.sha256,
        size=len(source.data),
        chunks=0,
        ingested_at=datetime.now(UTC),
        metadata=MappingProxyType(dict(source.metadata)),
    )
    return Version(document, hashlib.sha256("\n".join(made_by).encode()).hexdigest())
