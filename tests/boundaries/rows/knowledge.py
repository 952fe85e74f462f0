"""Limits of documents, collections, searches and uploads."""

import asyncio
from collections import Counter
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import apsw
import httpx
import numpy as np
import sqlglot
from boundaries.rows.forms import Check, entries
from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle_knowledge.chunking import chunks
from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.collection.names import check_document_name
from heddle_knowledge.document_queries import collecting, database, guard, schema
from heddle_knowledge.formats import archives, markdown, pdf
from heddle_knowledge.formats.webpage import read_webpage
from heddle_knowledge.graph.entity_normalisation import surface_of
from heddle_knowledge.models import multivectors
from heddle_knowledge.pages import page_store
from heddle_knowledge.reading import admission, documents
from heddle_knowledge.reading.parsing import Parser
from heddle_knowledge.service import (
    calls,
    document_queries,
    embeddings,
    filtering,
    graphs,
    pages,
)
from heddle_knowledge.service import limits as requests
from heddle_knowledge.uploads import checks, file_texts, store
from heddle_knowledge.uploads.readings import reading_of
from heddle_knowledge.web import fetching
from heddle_migration_service.searches import client as lamb
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.serving.fair_slots import QueueFullError, Tenant


def _upload(**fields: Any) -> files_pb2.CreateFileRequest:
    return files_pb2.CreateFileRequest(**{"filename": "a", "purpose": "assistants", **fields})


def _batch(count: int) -> files_pb2.CreateFileBatchRequest:
    files = (files_pb2.BatchedFile(file_id=str(number)) for number in range(count))
    return files_pb2.CreateFileBatchRequest(files=files)


def _collection(**fields: Any) -> list[object]:
    return list(
        requests.collection_violations(knowledge_pb2.Collection(name="a", **fields), ["lamb-kb"])
    )


def _ingestion(**fields: Any) -> list[object]:
    return list(requests.ingestion_violations(knowledge_pb2.IngestDocumentRequest(**fields)))


def _archive(name: str, size: int) -> None:
    """Check an archive that states the size of its only file."""
    data = BytesIO()
    with ZipFile(data, "w") as archive:
        archive.writestr(name, b"")
        archive.filelist[0].file_size = size
    archives.check_archive(data.getvalue(), "a.docx")


def _files(count: int) -> None:
    data = BytesIO()
    with ZipFile(data, "w") as archive:
        for number in range(count):
            archive.writestr(str(number), b"")
    archives.check_archive(data.getvalue(), "a.docx")


def _page(depth: int) -> None:
    read_webpage("<div>" * (depth - 2) + "x")  # in the elements html and body


def _pages(count: int) -> None:
    """Read a PDF with a tree of empty pages."""
    kids = b" ".join(b"%d 0 R" % (number + 3) for number in range(count))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/MediaBox[0 0 9 9]/Count %d/Kids[%b]>>" % (count, kids),
        *[b"<</Type/Page/Parent 2 0 R>>"] * count,
    ]
    body = b"\n".join(
        b"%d 0 obj%bendobj" % (number, each) for number, each in enumerate(objects, 1)
    )
    pdf.read_pdf(b"%%PDF-1.4\n%b\ntrailer<</Root 1 0 R>>" % body, "a.pdf")


def _query(sql: str) -> None:
    guard.guarded(sql, {"documents": frozenset({"name"})}, 1)


def _tables(count: int) -> None:
    _query(f"select 1 from {', '.join(f'documents d{each}' for each in range(count))}")  # noqa: S608


def _parts(count: int) -> None:
    (query,) = sqlglot.parse(f"select {','.join('1' * (count - 1))}", read="sqlite")
    assert isinstance(query, sqlglot.exp.Query)
    guard._counted(query)


def _answer(*values: str) -> bool:
    """Return whether rows with one value each are cut."""
    response = knowledge_pb2.QueryDocumentsResponse()
    rows = " union all ".join(["select ?"] * len(values))
    cursor = apsw.Connection(":memory:").execute(rows, values)
    database._fill(response, cursor, len(values))
    return response.truncated


def _texts(characters: int) -> bool:
    whole, rest = divmod(characters, 1_000)
    return _answer(*["x" * 1_000] * whole, *["x" * rest] * bool(rest), "")


def _keys(count: int) -> bool:
    return len(schema._columns(Counter(f"k{n}" for n in range(count)))) < count


def _filter(expression: knowledge_pb2.Filter) -> None:
    filtering.filter_condition(knowledge_pb2.SearchCollectionsRequest(filter=expression))


def _compared(**fields: Any) -> knowledge_pb2.Filter:
    base: dict[str, Any] = {"key": "k", "values": ["v"], "operator": knowledge_pb2.OPERATOR_IN}
    return knowledge_pb2.Filter(comparison=knowledge_pb2.Comparison(**{**base, **fields}))


def _all(*filters: knowledge_pb2.Filter) -> knowledge_pb2.Filter:
    return knowledge_pb2.Filter(all=knowledge_pb2.Filters(filters=filters))


def _nested(levels: int) -> knowledge_pb2.Filter:
    expression = _compared()
    for _ in range(levels - 1):
        expression = _all(expression)
    return expression


def _filters(count: int) -> knowledge_pb2.Filter:
    half = (count - 3) // 2
    return _all(_all(*[_compared()] * half), _all(*[_compared()] * (count - 3 - half)))


def _embedded(*texts: str) -> list[object]:
    return list(embeddings._violations(knowledge_pb2.EmbedTextsRequest(texts=texts)))


async def _waiting(documents: int, organization: str = "a") -> bool:
    """Return whether one of some documents is refused while others are read and wait."""
    slots = Parser()._slots
    reading = [Tenant(each, "u") for each in ("busy", "busier")]
    for tenant in reading:
        await slots.acquire(tenant)
    tenants = [Tenant(organization.format(number), "u") for number in range(documents)]
    waiting = [asyncio.create_task(slots.acquire(tenant)) for tenant in tenants]
    await asyncio.sleep(0)
    refused = any(task.done() and isinstance(task.exception(), QueueFullError) for task in waiting)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    return refused


def _room(*sizes: int) -> None:
    store.check_room(len(sizes), sum(sizes))


def _attaching(**fields: Any) -> None:
    reading_of(files_pb2.AttachFileRequest(**fields))


async def _fetched(size: int) -> None:
    await fetching._document(httpx.Response(200, stream=httpx.ByteStream(bytes(size))), "http://a/")


_KNOWLEDGE = "heddle_knowledge"
_SEARCHES = "heddle_migration_service.searches.client"
_UPLOADS, _REQUESTS = f"{_KNOWLEDGE}.uploads.checks", f"{_KNOWLEDGE}.service.limits"
_FORMATS, _SERVICE = f"{_KNOWLEDGE}.formats", f"{_KNOWLEDGE}.service"
_QUERIES, _READING = f"{_KNOWLEDGE}.document_queries", f"{_KNOWLEDGE}.reading"
ROWS: dict[str, Check] = {
    f"{_KNOWLEDGE}.uploads.readings._MAX_LANGUAGE_CHARACTERS": lambda n: _attaching(
        transcript_language="x" * n
    ),
    f"{_KNOWLEDGE}.web.fetching.MAX_BYTES": _fetched,
    f"{_UPLOADS}._MAX_NAME_CHARACTERS": lambda n: (
        checks.filename(_upload(filename="x" * n)) and None
    ),
    f"{_UPLOADS}._MAX_KEY_OF_UPLOAD_CHARACTERS": lambda n: (
        checks.upload_id("ann", "x" * n) and None
    ),
    f"{_UPLOADS}.MAX_BYTES": lambda n: checks.filename(_upload(data=bytes(n))) and None,
    f"{_UPLOADS}.MAX_BATCHED_FILES": lambda n: checks.batched(_batch(n)) and None,
    f"{_UPLOADS}._MAX_ATTRIBUTES": lambda n: checks.attributes(to_struct(entries(n))) and None,
    f"{_UPLOADS}._MAX_TEXT_CHARACTERS": lambda n: (
        checks.attributes(to_struct({"k": "x" * n})) and None
    ),
    f"{_KNOWLEDGE}.uploads.file_texts.MAX_CHARACTERS": lambda n: (
        file_texts.length_of(files_pb2.GetFileTextRequest(max_characters=n)) and None
    ),
    f"{_KNOWLEDGE}.uploads.store.MAX_FILES": lambda n: _room(*[0] * n),
    f"{_KNOWLEDGE}.uploads.store.MAX_BYTES": lambda n: _room(n - 1, 1),
    f"{_SERVICE}.calls.MAX_KEY_CHARACTERS": lambda n: (
        checks.attributes(to_struct({"k" * n: 1})) and None
    ),
    f"{_SERVICE}.calls.MAX_COLLECTIONS": lambda n: calls.check_collections(["a"] * n),
    f"{_SERVICE}.embeddings._MAX_TEXTS": lambda n: _embedded(*["a"] * n),
    f"{_SERVICE}.embeddings._MAX_TEXT_CHARACTERS": lambda n: _embedded("x" * n),
    f"{_SERVICE}.filtering._MAX_CHILDREN": lambda n: _filter(_all(*[_compared()] * n)),
    f"{_SERVICE}.filtering._MAX_DEPTH": lambda n: _filter(_nested(n)),
    f"{_SERVICE}.filtering._MAX_FILTERS": lambda n: _filter(_filters(n)),
    f"{_SERVICE}.filtering._MAX_VALUES": lambda n: _filter(_compared(values=["v"] * n)),
    f"{_SERVICE}.filtering._MAX_VALUE_CHARACTERS": lambda n: _filter(_compared(values=["v" * n])),
    f"{_KNOWLEDGE}.collection.names.LONGEST_DOCUMENT_NAME": lambda n: check_document_name("x" * n),
    f"{_KNOWLEDGE}.reading.admission.LARGEST_DOCUMENT": lambda n: admission.check_size(
        bytes(n), "a"
    ),
    f"{_KNOWLEDGE}.reading.documents.LARGEST_TEXT": lambda n: documents._check_length(n, "a"),
    f"{_FORMATS}.webpage.MAX_DEPTH": _page,
    f"{_FORMATS}.archives.LARGEST": lambda n: _archive("a.png", n),
    f"{_FORMATS}.archives.LARGEST_XML": lambda n: _archive("a.xml", n),
    f"{_FORMATS}.archives.MOST_FILES": _files,
    f"{_FORMATS}.markdown._MAX_KEY": lambda n: not markdown._is_metadata("k" * n, "v"),
    f"{_FORMATS}.markdown._MAX_VALUE": lambda n: not markdown._is_metadata("k", "v" * n),
    f"{_FORMATS}.pdf.MOST_PAGES": _pages,
    f"{_KNOWLEDGE}.pages.page_store.MAX_PAGES": lambda n: not page_store._pages_to_draw(n),
    f"{_KNOWLEDGE}.chunking.chunks.MOST_CHUNKS": lambda n: chunks._check_number(n, "a"),
    f"{_KNOWLEDGE}.chunking.options.FEWEST": lambda n: [*Chunking(n, overlap=0).problems()],
    f"{_KNOWLEDGE}.chunking.options.MOST": lambda n: [*Chunking(n, parent=n).problems()],
    f"{_KNOWLEDGE}.chunking.options.MOST_PARENT": lambda n: [*Chunking(parent=n).problems()],
    f"{_QUERIES}.collecting.MAX_METADATA_CHARACTERS": lambda n: collecting._check(1, n, 1),
    f"{_QUERIES}.collecting.MAX_DOCUMENTS": lambda n: collecting._check(
        n, 0, collecting.MAX_DOCUMENTS
    ),
    f"{_QUERIES}.database._LONGEST_VALUE": lambda n: _answer("x" * n),
    f"{_QUERIES}.database._MOST_CHARACTERS": _texts,
    f"{_QUERIES}.guard._LONGEST": lambda n: _query("select 1 --".ljust(n, "x")),
    f"{_QUERIES}.guard._MOST_NODES": _parts,
    f"{_QUERIES}.guard._MOST_TABLES": _tables,
    f"{_QUERIES}.schema._LONGEST_EXAMPLE": lambda n: schema._short("x" * n) != "x" * n,
    f"{_QUERIES}.schema._MAX_INTEGER": lambda n: schema.number_of(str(n)) is None,
    f"{_QUERIES}.schema._MOST_KEYS": _keys,
    f"{_KNOWLEDGE}.graph.entity_normalisation._LONGEST": lambda n: not surface_of("x" * n),
    f"{_SEARCHES}._LONGEST_ID": lambda n: lamb._segment("x" * n) and None,
    f"{_SEARCHES}._MAX_DIGITS": lambda n: lamb._number("1" * n) is None,
    f"{_SEARCHES}._MAX_SIMILARITY": lambda n: not lamb._similarity(n),
    f"{_KNOWLEDGE}.models.multivectors._MOST_VECTORS": lambda n: multivectors._problem_of(
        np.ones((n, 1), np.float32)
    ),
    f"{_READING}.parsing._MAX_WAITING": lambda n: _waiting(n, "organization {}"),
    f"{_READING}.parsing._MAX_WAITING_PER_ORGANIZATION": _waiting,
    f"{_SERVICE}.document_queries._MAX_ROWS": lambda n: document_queries._check(
        knowledge_pb2.QueryDocumentsRequest(max_rows=n)
    ),
    f"{_SERVICE}.graphs._MAX_RESULTS": lambda n: graphs._check(
        knowledge_pb2.FindGraphPathsRequest(max_paths=n), "max_paths"
    ),
    f"{_SERVICE}.pages._MAX_PAGES": lambda n: pages._check(
        knowledge_pb2.SearchPagesRequest(top_k=n)
    ),
    f"{_REQUESTS}._MAX_TITLE_CHARACTERS": lambda n: _collection(title="x" * n),
    f"{_REQUESTS}._MAX_ENTRIES": lambda n: _collection(metadata=entries(n)),
    f"{_REQUESTS}._MAX_VALUE_CHARACTERS": lambda n: _collection(metadata={"k": "x" * n}),
    f"{_REQUESTS}._MAX_DOCUMENT_ENTRIES": lambda n: _ingestion(metadata=entries(n)),
    f"{_REQUESTS}._MAX_DOCUMENT_VALUE_CHARACTERS": lambda n: _ingestion(metadata={"k": "x" * n}),
    f"{_REQUESTS}._MAX_URI_CHARACTERS": lambda n: _ingestion(uri="x" * n),
    f"{_REQUESTS}._MAX_SETTING_CHARACTERS": lambda n: _collection(
        backend="lamb-kb", settings={"collection_id": "x" * n}
    ),
    f"{_REQUESTS}._MAX_PASSAGES": lambda n: [
        *requests.search_violations(knowledge_pb2.SearchCollectionsRequest(top_k=n))
    ],
}
