"""Ingests a document: reads, splits and embeds it, then stores it in one commit."""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from types import MappingProxyType

from heddle_runtime.serving.fair_slots import Tenant

from heddle_knowledge.chunking import chunks as cutting
from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.collection.handle import CollectionHandle
from heddle_knowledge.collection.names import check_document_name
from heddle_knowledge.collection.tables import embedded_text, find_document, known_vectors
from heddle_knowledge.collection.types import SAVING, Document, Ingested, IngestProgress
from heddle_knowledge.embedders.embedding import Embedder
from heddle_knowledge.engines.word_forms import word_forms
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.graph.graphs import CollectionGraph
from heddle_knowledge.ingestion.commits import Commits, Prepared
from heddle_knowledge.ingestion.embedding_batches import Batches, grouped
from heddle_knowledge.reading.admission import MARKDOWN, check_size, kind_of
from heddle_knowledge.reading.parsing import Parser, ParseReply

Recognise = Callable[[bytes, Sequence[int]], AsyncGenerator[tuple[IngestProgress, int, str]]]


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
        chunking: How it is cut; None: as the collection says.
    """

    name: str
    data: bytes
    media_type: str
    uri: str
    metadata: Mapping[str, str]
    time: datetime | None = None
    chunking: Chunking | None = None

    @cached_property
    def sha256(self) -> str:
        """The hash of the bytes, in hexadecimal. Slow for large files: use a thread first."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def is_pdf(self) -> bool:
        """Whether it says that it is a PDF."""
        return self._kind == "application/pdf"

    @property
    def is_markdown(self) -> bool:
        """Whether it says that it is Markdown, which may bring metadata of its own."""
        return self._kind in MARKDOWN

    @property
    def _kind(self) -> str:
        return kind_of(self.data, self.media_type, self.name)[0]

    def check(self) -> None:
        """Refuse what could not be stored.

        Raises:
            InvalidInputError: The name breaks a rule.
            UnreadableDocumentError: It is too large.
        """
        check_document_name(self.name)
        check_size(self.data, self.name)


@dataclass(frozen=True, slots=True)
class Scans:
    """How pages that are pictures become text.

    Attributes:
        texts: What was read off them already, by their numbers from 1.
        recognise: Reads further ones; with no numbers, all.
    """

    texts: Mapping[int, str] = field(default_factory=dict)
    recognise: Recognise | None = None


NO_SCANS = Scans()


@dataclass(frozen=True, slots=True)
class Shared:
    """The parts that concurrent ingestions of a store share."""

    batches: Batches
    commits: Commits

    async def aclose(self) -> None:
        """End; documents whose commit is not through fail."""
        await self.batches.aclose()
        await self.commits.aclose()


async def ingest(
    handle: CollectionHandle,
    source: Source,
    *,
    parser: Parser,
    embedder: Embedder,
    shared: Shared,
    graph: CollectionGraph | None = None,
    scans: Scans = NO_SCANS,
) -> AsyncGenerator[IngestProgress | Ingested]:
    """Bring a document into a collection, new or in place of the one of its name.

    Until the last event nothing has changed; with it, the document is on disk and found. Work of
    different documents overlaps, and those that are ready at the same time share a commit. A
    passage whose text an earlier version has is not embedded again.

    Args:
        handle: The collection.
        source: The document, checked.
        parser: Reads and cuts it.
        embedder: Makes the vectors.
        shared: What it does together with others.
        graph: Of the collection, if it has one.
        scans: What stands on pages of it that have no text layer.

    Raises:
        UnreadableDocumentError: No text can be taken from it.
        EmbeddingError: The embedder failed.
        CollectionNotFoundError: The collection was deleted meanwhile.
        StorageError: The commit failed.
    """
    document = await asyncio.to_thread(_described, handle, source)
    async with handle.using():
        present = await find_document(handle.table, source.name)
    sha256 = document.sha256
    undrawn = graph is not None and not await graph.parts.has(source.name, sha256)
    if present and present.fingerprint == document.fingerprint and not undrawn:
        same = (present.uri, present.metadata) == (document.uri, document.metadata)
        if same or source.is_markdown:  # whose fingerprint covers both
            yield Ingested(source.name, present.chunks, replaced=False, unchanged=True)
            return
        yield IngestProgress(SAVING, 0, 1)
        if await shared.commits.relabel(handle, document):
            yield Ingested(source.name, present.chunks, replaced=True, unchanged=False)
            return
    yield IngestProgress("parsing", 0, 1)
    tenant = Tenant(handle.collection.organization, handle.collection.owner)

    def parsing(scanned: Mapping[int, str]) -> Awaitable[ParseReply]:
        return parser.parse(
            source.data,
            media_type=document.media_type,
            name=source.name,
            chunking=source.chunking or handle.collection.chunking,
            scanned=scanned,
            tenant=tenant,
        )

    read: list[ParseReply] = []
    async with aclosing(_reading(source, scans, parsing, read)) as reading:
        async for progress in reading:
            yield progress
    (reply,) = read
    parsed, chunks = reply.document, reply.chunks
    yield IngestProgress("parsing", 1, 1)
    texts = [embedded_text(chunk) for chunk in chunks]
    language = handle.collection.language
    indexed = await asyncio.to_thread(lambda: [word_forms(text, language) for text in texts])
    async with handle.using():
        stored = await known_vectors(handle.table, source.name) if present else {}
    known = {text: stored[key] for text, key in zip(texts, indexed, strict=True) if key in stored}
    changed = [text for text in dict.fromkeys(texts) if text not in known]
    embedded = len(texts) - len(changed)
    for group in grouped(embedder, changed):
        yield IngestProgress("embedding", embedded, len(texts))
        embedded += len(group)
        vectors = await shared.batches.embedded(embedder, group, tenant=tenant)
        known |= zip(group, vectors, strict=True)
    yield IngestProgress("embedding", len(texts), len(texts))
    if graph is not None:
        async with aclosing(graph.draw(source.name, sha256, chunks)) as drawing:
            async for done in drawing:
                yield IngestProgress("relating", done, len(chunks))
    yield IngestProgress(SAVING, 0, 1)
    document = replace(
        document,
        title=parsed.title,
        chunks=len(chunks),
        pages=parsed.pages,
        document_time=source.time or parsed.time,
        metadata=MappingProxyType({**parsed.metadata, **source.metadata}),
    )
    prepared = Prepared(document, chunks, [known[text] for text in texts], indexed)
    replaced = await shared.commits.put(handle, prepared)
    if graph is not None:
        await graph.parts.settle(source.name, present.sha256 if present else "", sha256)
    yield Ingested(source.name, len(chunks), replaced=replaced, unchanged=False)


async def _reading(
    source: Source,
    scans: Scans,
    parse: Callable[[Mapping[int, str]], Awaitable[ParseReply]],
    read: list[ParseReply],
) -> AsyncGenerator[IngestProgress]:
    """Read a document into a list; pages without text are read off their pictures, and it again."""
    recognise = scans.recognise if source.is_pdf else None
    parsed: ParseReply | None = None
    texts = dict(scans.texts)
    try:
        parsed = await parse(texts)
    except UnreadableDocumentError:
        if recognise is None:
            raise
    if recognise and (parsed is None or parsed.document.unread):
        pages = recognise(source.data, parsed.document.unread if parsed else ())
        async with aclosing(pages) as recognising:
            async for progress, number, text in recognising:
                texts |= {number: text} if text else {}
                yield progress
    if parsed is None or len(texts) > len(scans.texts):
        parsed = await parse(texts)
    read.append(parsed)


def _described(handle: CollectionHandle, source: Source) -> Document:
    """Describe what is about to be stored, as far as it is known before reading it."""
    kind, parameters = kind_of(source.data, source.media_type, source.name)
    media_type = f"{kind};{parameters}" if parameters else kind
    collection = handle.collection
    chunking = source.chunking or collection.chunking
    makers = (
        source.sha256,
        media_type,
        str(cutting.REVISION),
        collection.model,
        str(collection.dim),
        collection.revision,
        *map(str, (chunking.target, chunking.overlap, chunking.parent)),
        *(["whole paragraphs"] if chunking.whole_paragraphs else []),
        source.time.isoformat() if source.time else "",
        json.dumps([source.uri, dict(source.metadata)]) if source.is_markdown else "",
    )
    return Document(
        name=source.name,
        title=source.name,
        uri=source.uri,
        media_type=media_type,
        sha256=source.sha256,
        size=len(source.data),
        chunks=0,
        ingested_at=datetime.now(UTC),
        metadata=MappingProxyType(dict(source.metadata)),
        fingerprint=hashlib.sha256("\n".join(makers).encode()).hexdigest(),
    )
