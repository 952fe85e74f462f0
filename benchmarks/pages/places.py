"""Compares searches for pages in a folder and in PostgreSQL: `python -m benchmarks.pages.places`.

The same random pages go into both, and the same questions find them. It needs an empty database.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Awaitable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from heddle_knowledge.embedders.embedding import DIMENSION, Vectors, unit
from heddle_knowledge.pages.collection_pages import CollectionPages
from heddle_knowledge.pages.models import PageModelInfo
from heddle_knowledge.pages.page_place import open_pages
from heddle_knowledge.pages.ranking import rank
from heddle_knowledge.pages.shapes import DrawnPage

_COLLECTION, _DOCUMENT = "1" * 32, "a" * 64
_VOCABULARY = [f"word{number}" for number in range(20_000)]
_RARITY = [1 / (number + 1) for number in range(len(_VOCABULARY))]
_WORDS_OF_PAGE, _VECTORS_OF_PAGE = 400, 30
_WORDS_OF_QUESTION, _VECTORS_OF_QUESTION = 10, 12
_QUESTIONS = 20
_MODEL = PageModelInfo("random", DIMENSION, "1", visual=False)


class Content:
    """Random words and vectors, the same for each place."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - no secrets
        self._noise = np.random.default_rng(seed)

    def text(self, words: int) -> str:
        """Return a text."""
        return " ".join(self._dice.choices(_VOCABULARY, _RARITY, k=words))

    def vectors(self, count: int) -> Vectors:
        """Return vectors of length 1."""
        return unit(self._noise.normal(size=(count, DIMENSION)).astype(np.float32))


async def fill(pages: CollectionPages, count: int) -> None:
    """Store pages."""
    content = Content(1)
    await pages.expect(_DOCUMENT, "1", count)
    for number in range(1, count + 1):
        page = DrawnPage(number, b"", content.text(_WORDS_OF_PAGE))
        vectors = content.vectors(_VECTORS_OF_PAGE).astype(np.float16)
        await pages.add(_DOCUMENT, [page], [vectors])
    await pages.finish(_DOCUMENT)


async def milliseconds(work: Awaitable[object]) -> float:
    """Return how long work takes."""
    begin = time.perf_counter()
    await work
    return (time.perf_counter() - begin) * 1_000


async def measure(pages: CollectionPages) -> tuple[dict[str, float], list[list[int]]]:
    """Return the medians of the parts of a search in milliseconds, and the pages in their order."""
    content, orders = Content(2), []
    times: dict[str, list[float]] = {"by words": [], "by meaning": [], "whole": []}
    for _ in range(_QUESTIONS):
        query = content.text(_WORDS_OF_QUESTION)
        vectors = content.vectors(_VECTORS_OF_QUESTION)
        times["by words"].append(await milliseconds(_by_words(pages, query)))
        times["by meaning"].append(await milliseconds(pages.search.nearest(vectors[0], 50)))
        ranking = rank(pages.search, query, vectors, _MODEL)
        times["whole"].append(await milliseconds(ranking))
        ranked = await rank(pages.search, query, vectors, _MODEL)
        orders.append([page.stored.page for page in ranked])
    return {part: median(each) for part, each in times.items()}, orders


async def _by_words(pages: CollectionPages, query: str) -> None:
    await pages.search.matching(await pages.search.question(query), 200)


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", help="the address of PostgreSQL with pgvector")
    parser.add_argument("--pages", type=int, default=3_000)
    options = parser.parse_args()
    orders = []
    with TemporaryDirectory() as folder:
        for name, address in (("folder", ""), ("PostgreSQL", options.database)):
            async with open_pages(address, Path(folder)) as place:
                pages = place.of(_COLLECTION)
                await fill(pages, options.pages)
                medians, order = await measure(pages)
                orders.append(order)
                parts = ", ".join(f"{part} {value:.0f} ms" for part, value in medians.items())
                print(f"{name}: {parts}")
                await place.drop(_COLLECTION)
    same = sum(one == other for one, other in zip(*orders, strict=True))
    print(f"{same} of {_QUESTIONS} questions have the same pages in the same order")


if __name__ == "__main__":
    asyncio.run(main())
