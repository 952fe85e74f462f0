"""The table of a collection: a row per chunk, and a document's replacement in one commit.

Every commit shows a reader all of its rows or none. `replace_documents` puts the rows of documents
in with one commit that also takes the old ones out, so there is no moment, and no crash, at which a
document is missing, mixed or partly there.
"""

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from heddle_knowledge.chunking.chunks import Chunk
from heddle_knowledge.collection.names import document_id
from heddle_knowledge.collection.types import Document, Passage
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.conditions import (
    LABELS,
    All,
    Compare,
    Condition,
    In,
    labels,
)
from heddle_knowledge.engines.interface import Layout, Table
from heddle_knowledge.engines.languages import ENGLISH

KIND = "chunks"
"""Before a collection's id, the name of its table."""

MOST_ROWS = 10_000
"""Documents that are read in one query."""

# Columns that are fields of a document as they are.
_PLAIN = ("title", "uri", "media_type", "sha256", "size", "chunks", "pages", "fingerprint")
DOCUMENT_COLUMNS = [*_PLAIN, "document", "ingested_at", "metadata", "document_time"]
PASSAGE_COLUMNS = (
    "document", "title", "uri", "metadata", "ordinal", "text", "heading", "page", "parent_text",
    "start_offset", "end_offset", "document_time", "sha256",
)  # fmt: skip
"""The columns that `passage` reads."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def embedded_text(chunk: Chunk) -> str:
    """Return the text of a chunk that is embedded: its text under its nearest title."""
    return f"{chunk.heading[-1]}\n{chunk.text}" if chunk.heading else chunk.text


def document_rows(
    document: Document,
    chunks: list[Chunk],
    vectors: Sequence[Vectors],
    indexed: Sequence[str],
    collection: str,
) -> pa.Table:
    """Lay out a document's chunks as rows, each with its vector and its text for the index."""
    count = len(chunks)
    matrix = np.stack(vectors)
    dim = matrix.shape[1]
    same = {name: getattr(document, name) for name in _PLAIN} | {
        "document": document.name,
        "ingested_at": microseconds(document.ingested_at),
        "metadata": json.dumps(dict(document.metadata), ensure_ascii=False),
        LABELS: labels(document.metadata),
        "document_id": document_id(collection, document.name),
        "document_time": microseconds(document.document_time or document.ingested_at),
    }
    flat = pa.array(np.ascontiguousarray(matrix, dtype=np.float32).ravel())
    columns = {key: [value] * count for key, value in same.items()} | {
        "ordinal": [chunk.ordinal for chunk in chunks],
        "text": [chunk.text for chunk in chunks],
        "indexed": list(indexed),
        "heading": [list(chunk.heading) for chunk in chunks],
        "page": [chunk.page for chunk in chunks],
        "start_offset": [chunk.start for chunk in chunks],
        "end_offset": [chunk.end for chunk in chunks],
        "parent_text": [chunk.parent_text for chunk in chunks],
        "vector": pa.FixedSizeListArray.from_arrays(flat, dim),
    }
    return pa.table(columns, schema=layout(dim).schema)


async def replace_documents(table: Table, names: Sequence[str], rows: pa.Table) -> set[str]:
    """Put documents in, in one commit; return which took the place of an earlier version."""
    where = In("document", tuple(names))
    first = All((Compare("ordinal", "=", 0), where))
    present = (await table.rows(["document"], first)).column("document").to_pylist()
    await table.replace(where, rows)
    return set(present)


async def find_document(table: Table, name: str) -> Document | None:
    """Return a document as it stands, or None."""
    return (await find_documents(table, [name])).get(name)


async def find_documents(table: Table, names: Sequence[str]) -> dict[str, Document]:
    """Return documents as they stand, those that there are, by name."""
    heads = await _heads(table, In("document", tuple(names)))
    return {document.name: document for document in heads}


async def known_vectors(table: Table, document: str) -> dict[str, Vectors]:
    """Return the stored vectors of a document's passages, each of shape [dim], by indexed texts.

    All of a collection's vectors come from one model, so the same text has the same vector.
    """
    rows = await table.rows(["indexed", "vector"], Compare("document", "=", document))
    if not rows.num_rows:
        return {}
    flat = rows.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors = flat.reshape(rows.num_rows, -1)
    return dict(zip(rows.column("indexed").to_pylist(), vectors, strict=True))


async def name_of_document(table: Table, identifier: str) -> str | None:
    """Return the name of the document with an identifier, or None."""
    first = All((Compare("ordinal", "=", 0), Compare("document_id", "=", identifier)))
    names = (await table.rows(["document"], first, limit=1)).column("document").to_pylist()
    return names[0] if names else None


async def list_documents(table: Table, after: str, limit: int) -> list[Document]:
    """Return the documents whose names sort after a name, in that order."""
    later = Compare("document", ">", after)
    return await _heads(table, later, order_by=["document"], limit=limit)


async def documents_of(table: Table, contents: Collection[str]) -> list[Document]:
    """Return the documents with one of some contents, each a SHA-256, by name."""
    if not contents:
        return []
    among = In("sha256", tuple(sorted(contents)))
    return await _heads(table, among, order_by=["document"], limit=MOST_ROWS)


async def all_contents(table: Table) -> set[str]:
    """Return the SHA-256 of every document."""
    rows = await table.rows(["sha256"], Compare("ordinal", "=", 0))
    return set(rows.column("sha256").to_pylist())


async def update_labels(table: Table, document: Document) -> int:
    """Change a document's URI and metadata in one commit, if it is still of this version.

    Returns:
        Its rows; 0 if it is not.
    """
    unchanged = Compare("fingerprint", "=", document.fingerprint)
    values = {
        "uri": document.uri,
        "metadata": json.dumps(dict(document.metadata), ensure_ascii=False),
        LABELS: labels(document.metadata),
    }
    where = All((Compare("document", "=", document.name), unchanged))
    return await table.update(values, where)


async def _heads(
    table: Table, where: Condition, *, order_by: Sequence[str] = (), limit: int | None = None
) -> list[Document]:
    """Read the first rows of documents; each carries all that is known of its document."""
    first = All((Compare("ordinal", "=", 0), where))
    rows = await table.rows(DOCUMENT_COLUMNS, first, order_by=order_by, limit=limit)
    return [_document(row) for row in rows.to_pylist()]


def _document(row: dict[str, Any]) -> Document:
    return Document(
        **{name: row[name] for name in _PLAIN},
        name=row["document"],
        ingested_at=timestamp(row["ingested_at"]),
        metadata=MappingProxyType(json.loads(row["metadata"])),
        document_time=timestamp(row["document_time"]),
    )


def passage(
    row: dict[str, Any],
    score: float = 0.0,
    relevance: float = 0.0,
    vector_rank: int | None = None,
    text_rank: int | None = None,
    text_score: float | None = None,
) -> Passage:
    """Return a row as callers get it."""
    return Passage(
        text=row["text"],
        score=score,
        relevance=relevance,
        document=row["document"],
        title=row["title"],
        uri=row["uri"],
        heading=tuple(row["heading"]),
        page=row["page"],
        ordinal=row["ordinal"],
        parent_text=row["parent_text"],
        metadata=MappingProxyType(json.loads(row["metadata"])),
        start=row["start_offset"],
        end=row["end_offset"],
        document_time=timestamp(row["document_time"]),
        sha256=row["sha256"],
        vector_rank=vector_rank,
        text_rank=text_rank,
        text_score=text_score,
    )


async def passages_of_pages(
    table: Table, document: Document, first: int, last: int
) -> list[Passage]:
    """Return the passages of pages of one version of a document, in their order."""
    of_pages = (
        Compare("document", "=", document.name),
        Compare("ingested_at", "=", microseconds(document.ingested_at)),
        Compare("page", ">=", first),
        Compare("page", "<=", last),
    )
    rows = await table.rows(
        PASSAGE_COLUMNS, All(of_pages), order_by=["ordinal"], limit=document.chunks
    )
    return [passage(row) for row in rows.to_pylist()]


async def list_passages(table: Table, document: Document, first: int, limit: int) -> list[Passage]:
    """Return the passages of one version of a document from an ordinal on, in their order."""
    of_version = (
        Compare("document", "=", document.name),
        Compare("ingested_at", "=", microseconds(document.ingested_at)),
        Compare("ordinal", ">=", first),
    )
    rows = await table.rows(PASSAGE_COLUMNS, All(of_version), order_by=["ordinal"], limit=limit)
    return [passage(row) for row in rows.to_pylist()]


@cache
def layout(dim: int, language: str = ENGLISH) -> Layout:
    """Describe the table of chunks whose vectors have so many numbers, of a language."""
    chosen = (LABELS, "document_id", "document_time")
    keys = ("document", "ordinal")
    return Layout(KIND, _schema(dim), keys, "indexed", "vector", chosen, language)


def _schema(dim: int) -> pa.Schema:
    text = ("document", "title", "uri", "media_type", "sha256", "metadata", "fingerprint")
    return pa.schema(
        [
            *(pa.field(name, pa.string(), nullable=False) for name in text),
            pa.field("size", pa.int64(), nullable=False),
            pa.field("chunks", pa.int32(), nullable=False),
            pa.field("ingested_at", pa.int64(), nullable=False),  # microseconds since 1970, UTC
            pa.field("ordinal", pa.int32(), nullable=False),
            pa.field("text", pa.string(), nullable=False),
            pa.field("indexed", pa.string(), nullable=False),
            pa.field("heading", pa.list_(pa.string()), nullable=False),
            pa.field("page", pa.int32()),
            pa.field("parent_text", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dim), nullable=False),
            pa.field(LABELS, pa.list_(pa.string()), nullable=False),
            pa.field("document_id", pa.string(), nullable=False),
            pa.field("document_time", pa.int64(), nullable=False),  # as ingested_at
            pa.field("start_offset", pa.int32(), nullable=False),
            pa.field("end_offset", pa.int32(), nullable=False),
            pa.field("pages", pa.int32(), nullable=False),
        ]
    )


def microseconds(time: datetime) -> int:
    """Return a time with a zone as microseconds, the form of rows."""
    return (time - _EPOCH) // _MICROSECOND


def timestamp(microseconds_since_epoch: int) -> datetime:
    """Return the time that a row keeps, in UTC."""
    return _EPOCH + microseconds_since_epoch * _MICROSECOND
