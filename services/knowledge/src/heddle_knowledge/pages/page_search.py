"""Finds the pages of one collection by their mean vector, and reads what ranks them."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, func, or_, select, tuple_

from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.schema import pages
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.pages.encoding import read_words
from heddle_knowledge.pages.shapes import StoredPage

_PAGES = pages.c


@dataclass(frozen=True, slots=True)
class _Summaries:
    """The mean vector of every page: ids of shape [pages], vectors of shape [pages, dim]."""

    ids: NDArray[np.int64]
    vectors: NDArray[np.float32]


class PageSearch:
    """The pages of a collection as searches see them. Methods raise `StorageError`."""

    def __init__(self, database: KnowledgeDatabase, collection: str) -> None:
        self._database = database
        self._here = _PAGES.collection == collection
        self._summaries: tuple[object, _Summaries] | None = None

    async def nearest(self, mean: Vectors, most: int) -> list[int]:
        """Return the ids of at most so many pages whose mean vector is nearest to another one."""
        summaries = await self._all_summaries()
        return await asyncio.to_thread(_nearest, summaries, mean, most)

    async def read(
        self, ids: Collection[int], places: Collection[tuple[str, int]], dim: int
    ) -> list[StoredPage]:
        """Return the pages of some ids and of some places, of those that are still there.

        Args:
            ids: Some hundred at most.
            places: Likewise; documents by their SHA-256, and pages.
            dim: Numbers in a vector of a word.
        """
        columns = _PAGES.sha256, _PAGES.page, _PAGES.text, _PAGES.figures, _PAGES.words
        chosen = or_(_PAGES.id.in_(ids), tuple_(_PAGES.sha256, _PAGES.page).in_(places))
        query = select(*columns).where(self._here, chosen).order_by(_PAGES.id)
        return [
            StoredPage(
                sha256=row.sha256,
                page=row.page,
                text=row.text,
                figures=tuple(row.figures),
                words=read_words(row.words, dim),
            )
            for row in await self._database.rows(query)
        ]

    async def _all_summaries(self) -> _Summaries:
        """Return the summaries; read again only after a change. Ids are never given twice."""
        state = select(func.count(), func.max(_PAGES.id), func.sum(_PAGES.id)).where(self._here)
        version = [tuple(row) for row in await self._database.rows(state)]
        if self._summaries is None or self._summaries[0] != version:
            stored = select(_PAGES.id, _PAGES.summary).where(
                self._here, _PAGES.summary.is_not(None)
            )
            rows = await self._database.rows(stored.order_by(_PAGES.id))
            self._summaries = version, await asyncio.to_thread(_decoded, rows)
        return self._summaries[1]


def _decoded(rows: Sequence[Row[*tuple[Any, ...]]]) -> _Summaries:
    return _Summaries(
        np.array([row.id for row in rows], np.int64),
        np.array([np.frombuffer(row.summary, np.float16) for row in rows], np.float32),
    )


def _nearest(summaries: _Summaries, mean: Vectors, most: int) -> list[int]:
    if not len(summaries.ids):
        return []
    near = summaries.vectors @ mean
    count = min(most, len(near))
    best = np.argpartition(-near, count - 1)[:count]
    return [int(id_) for id_ in summaries.ids[best]]
