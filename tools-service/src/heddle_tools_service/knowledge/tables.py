"""The table of a collection: a row per chunk, and a document's replacement in one commit.

Every commit of a Lance table shows a reader all of its rows or none. `replace_document` puts a
document's rows in with one commit that also takes the old ones out, so there is no moment, and no
crash, at which a document is missing, mixed or partly there.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from lancedb.db import AsyncConnection
from lancedb.index import FTS, BTree
from lancedb.query import ColumnOrdering
from lancedb.table import AsyncTable

from heddle_tools_service.knowledge.chunks import Chunk
from heddle_tools_service.knowledge.embedding import Vectors
from heddle_tools_service.knowledge.names import quoted
from heddle_tools_service.knowledge.records import Document

PREFIX = "chunks_"
"""Before a collection's id, the name of its table."""

MOST_ROWS = 10_000
"""Documents that are read in one query."""

DOCUMENT_COLUMNS = [
    "document", "title", "uri", "media_type", "sha256", "size", "chunks", "ingested_at",
    "metadata", "fingerprint",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Version:
    """A document together with the fingerprint of all that its chunks and vectors depend on."""

    document: Document
    fingerprint: str


async def create_table(database: AsyncConnection, name: str, dim: int) -> AsyncTable:
    """Make an empty table with its full-text index.

    The index exists from the start: rows that it does not hold yet are searched all the same,
    but without any index there is no full-text search.
    """
    table = await database.create_table(name, schema=_schema(dim))
    await table.create_index("indexed", config=FTS())
    await table.create_index("document", config=BTree())
    return table


def indexed_text(chunk: Chunk) -> str:
    """Return what is embedded and indexed of a chunk: its text under its nearest title."""
    return f"{chunk.heading[-1]}\n{chunk.text}" if chunk.heading else chunk.text


def document_rows(version: Version, chunks: list[Chunk], groups: list[Vectors]) -> pa.Table:
    """Lay out a document's chunks as rows; the vectors come in groups, in the same order."""
    document, count = version.document, len(chunks)
    vectors = np.concatenate(groups)
    dim = vectors.shape[1]
    same = {
        "document": document.name,
        "title": document.title,
        "uri": document.uri,
        "media_type": document.media_type,
        "sha256": document.sha256,
        "size": document.size,
        "chunks": count,
        "ingested_at": int(document.ingested_at.timestamp() * 1_000_000),
        "metadata": json.dumps(dict(document.metadata), ensure_ascii=False),
        "fingerprint": version.fingerprint,
    }
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel())
    columns = {key: [value] * count for key, value in same.items()} | {
        "ordinal": [chunk.ordinal for chunk in chunks],
        "text": [chunk.text for chunk in chunks],
        "indexed": [indexed_text(chunk) for chunk in chunks],
        "heading": [list(chunk.heading) for chunk in chunks],
        "page": [chunk.page for chunk in chunks],
        "parent_text": [chunk.parent_text for chunk in chunks],
        "vector": pa.FixedSizeListArray.from_arrays(flat, dim),
    }
    return pa.table(columns, schema=_schema(dim))


async def replace_document(table: AsyncTable, name: str, rows: pa.Table) -> bool:
    """Put a document in, in one commit; say whether it took the place of an earlier version."""
    merge = (
        table.merge_insert(["document", "ordinal"])
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .when_not_matched_by_source_delete(f"document = {quoted(name)}")
    )
    result = await merge.execute(rows)
    return bool(result.num_updated_rows or result.num_deleted_rows)


async def find_document(table: AsyncTable, name: str) -> Version | None:
    """Return a document as it stands, or None."""
    found = await _heads(table, f"document = {quoted(name)}", limit=1)
    return found[0] if found else None


async def list_documents(table: AsyncTable, after: str, limit: int) -> list[Document]:
    """Return the documents whose names sort after a name, in that order."""
    where = f"document > {quoted(after)}"
    return [version.document for version in await _heads(table, where, limit=limit)]


async def documents_of(table: AsyncTable, contents: Collection[str]) -> list[Document]:
    """Return the documents with one of some contents, each a SHA-256, ordered by name."""
    if not contents:
        return []
    among = ", ".join(map(quoted, contents))
    versions = await _heads(table, f"sha256 IN ({among})", limit=MOST_ROWS)
    return [version.document for version in versions]


async def all_contents(table: AsyncTable) -> set[str]:
    """Return the SHA-256 of every document."""
    rows = await table.query().where("ordinal = 0").select(["sha256"]).to_arrow()
    return set(rows.column("sha256").to_pylist())


async def update_labels(table: AsyncTable, version: Version) -> bool:
    """Change a document's URI and metadata in one commit, if it is still of this version."""
    document = version.document
    where = f"document = {quoted(document.name)} AND fingerprint = {quoted(version.fingerprint)}"
    metadata = json.dumps(dict(document.metadata), ensure_ascii=False)
    result = await table.update({"uri": document.uri, "metadata": metadata}, where=where)
    return bool(result.rows_updated)


async def _heads(table: AsyncTable, where: str, *, limit: int) -> list[Version]:
    """Read the first rows of documents; each carries all that is known of its document."""
    query = table.query().where(f"ordinal = 0 AND {where}").select(DOCUMENT_COLUMNS)
    ordered = query.order_by([ColumnOrdering(column_name="document")]).limit(limit)
    return [_version(row) for row in await ordered.to_list()]


def _version(row: dict[str, Any]) -> Version:
    document = Document(
        name=row["document"],
        title=row["title"],
        uri=row["uri"],
        media_type=row["media_type"],
        sha256=row["sha256"],
        size=row["size"],
        chunks=row["chunks"],
        ingested_at=datetime.fromtimestamp(row["ingested_at"] / 1_000_000, UTC),
        metadata=MappingProxyType(json.loads(row["metadata"])),
    )
    return Version(document, row["fingerprint"])


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
        ]
    )
