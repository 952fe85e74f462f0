"""Pages of documents with their pictures."""

import base64
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

import numpy as np
from heddle_runtime.storage.database.table_rows import Row
from numpy.typing import NDArray
from sqlalchemy import delete

from heddle_knowledge.database.schema import graph_parts
from heddle_knowledge.pages.encoding import read_words, written_words
from heddle_knowledge.pages.page_place import PagePlace
from heddle_knowledge.pages.shapes import DrawnPage


async def rows(place: PagePlace) -> AsyncIterator[dict[str, Any]]:
    """Yield the pages of all collections, and after those of a document what is known of it."""
    for collection in sorted(await place.collections()):
        pages = place.of(collection)
        documents = await pages.documents()
        for sha256, document in sorted(documents.items()):
            same: dict[str, Any] = {"collection": collection, "sha256": sha256}
            same |= {"maker": document.maker, "pages": document.pages}
            deleted = False
            for number in await pages.numbers(sha256):
                page = await pages.whole_page(sha256, number)
                if page is None:
                    deleted = True
                else:
                    yield same | _written(*page)
            yield same | {"whole": document.whole and not deleted}


async def add(place: PagePlace, incoming: AsyncIterable[Row]) -> None:
    """Add pages as `rows` yields them."""
    expected: tuple[str, str] | None = None
    async for row in incoming:
        pages, sha256 = place.of(row["collection"]), row["sha256"]
        if expected != (row["collection"], sha256):
            expected = row["collection"], sha256
            await pages.expect(sha256, row["maker"], row["pages"])
        if "drawn" in row:
            drawn, words = _read(row)
            await pages.add(sha256, [drawn], [words])
        elif row["whole"]:
            await pages.finish(sha256)


async def clear(place: PagePlace) -> None:
    """Remove all pages and graphs."""
    for collection in await place.collections():
        await place.drop(collection)
    if place.database.exists():
        async with place.database.writing() as connection:
            await connection.execute(delete(graph_parts))


def _written(drawn: DrawnPage, words: NDArray[np.float16]) -> dict[str, Any]:
    return {
        "drawn": drawn.page,
        "picture": drawn.picture,
        "text": drawn.text,
        "figures": drawn.figures,
        "scanned": bool(drawn.scanned),
        "dim": words.shape[-1] if len(words) else 0,
        "words": written_words(words),
    }


def _read(row: Row) -> tuple[DrawnPage, NDArray[np.float16]]:
    picture = base64.b64decode(row["picture"])
    drawn = DrawnPage(row["drawn"], picture, row["text"], tuple(row["figures"]), row["scanned"])
    return drawn, read_words(base64.b64decode(row["words"]), row["dim"])
