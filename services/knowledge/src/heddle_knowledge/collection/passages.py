"""Passages as rows keep them and as callers get them."""

import json
from types import MappingProxyType
from typing import Any

from heddle_knowledge.collection.tables import microseconds, timestamp
from heddle_knowledge.collection.types import Document, Passage
from heddle_knowledge.engines.conditions import All, Compare
from heddle_knowledge.engines.interface import Table

COLUMNS = (
    "document", "title", "uri", "metadata", "ordinal", "text", "heading", "page", "parent_text",
    "start_offset", "end_offset", "document_time", "sha256",
)  # fmt: skip
"""The columns that `passage` reads."""


def passage(row: dict[str, Any], score: float = 0.0, relevance: float = 0.0) -> Passage:
    """Return a row as callers get it."""
    return Passage(
        text=row["text"],
        score=float(score),
        relevance=float(relevance),
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
    rows = await table.rows(COLUMNS, All(of_pages), order_by=["ordinal"], limit=document.chunks)
    return [passage(row) for row in rows.to_pylist()]


async def list_passages(table: Table, document: Document, first: int, limit: int) -> list[Passage]:
    """Return the passages of one version of a document from an ordinal on, in their order."""
    of_version = (
        Compare("document", "=", document.name),
        Compare("ingested_at", "=", microseconds(document.ingested_at)),
        Compare("ordinal", ">=", first),
    )
    rows = await table.rows(COLUMNS, All(of_version), order_by=["ordinal"], limit=limit)
    return [passage(row) for row in rows.to_pylist()]
