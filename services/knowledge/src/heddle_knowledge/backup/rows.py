"""Rows that a backup reads and writes."""

from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from typing import Any

Row = Mapping[str, Any]


async def whole_documents(rows: AsyncIterable[Row], most: int) -> AsyncGenerator[list[Row]]:
    """Yield the rows of whole documents, which come one after the other, about `most` at once."""
    documents: list[Row] = []
    async for row in rows:
        if len(documents) >= most and row["document"] != documents[-1]["document"]:
            yield documents
            documents = []
        documents.append(row)
    if documents:
        yield documents
