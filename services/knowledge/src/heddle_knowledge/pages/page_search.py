"""Finds the pages of one collection by their words and by their mean vector.

BM25 is that of SQLite's FTS5: k1 is 1.2, b 0.75, a word that half of the pages have weighs almost
nothing, and the pages of the whole collection count, whichever documents are searched.
"""

import asyncio
import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Float,
    Row,
    Select,
    TableValuedAlias,
    Text,
    bindparam,
    cast,
    column,
    func,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB

from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.schema import page_words, pages
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.pages.encoding import read_figures, read_words
from heddle_knowledge.pages.shapes import StoredPage
from heddle_knowledge.pages.words import matched, shares, tokens_of, words_of

_PAGES, _WORDS = pages.c, page_words.c
_COMMON = 1e-6
"""The weight of a word that half of the pages have."""


@dataclass(frozen=True, slots=True)
class Question:
    """The words of a question, and the pages of the collection that have them.

    Attributes:
        tokens: The token of each word; empty: one that no page can have.
        hits: By token the number of pages that have it.
        pages: The number of all pages.
        size: The mean number of tokens of a page.
    """

    tokens: Mapping[str, str]
    hits: Mapping[str, int]
    pages: int
    size: float


@dataclass(frozen=True, slots=True)
class _Summaries:
    """The mean vector of every page: ids of shape [pages], vectors of shape [pages, dim]."""

    ids: NDArray[np.int64]
    vectors: NDArray[np.float32]


class PageSearch:
    """The pages of a collection as searches see them. Methods raise `StorageError`."""

    def __init__(self, database: KnowledgeDatabase, collection: str) -> None:
        """Take the database, and the id of the collection."""
        self._database = database
        self._collection = collection
        self._summaries: tuple[object, _Summaries] | None = None

    async def question(self, query: str) -> Question:
        """Return the words of a question, and how many pages have them."""
        words = words_of(query)
        cut = await asyncio.to_thread(tokens_of, words)
        tokens = {word: next(iter(each), "") for word, each in zip(words, cut, strict=True)}
        terms = self._listed(tokens.values())
        counts = (
            select(_WORDS.word, func.count().label("hits"))
            .where(_WORDS.collection == self._collection, _WORDS.word.in_(select(terms.c.key)))
            .group_by(_WORDS.word)
        )
        sizes = select(func.count(), func.sum(_PAGES.size)).where(self._here)
        hits = {row.word: row.hits for row in await self._database.rows(counts)}
        for number, size in await self._database.rows(sizes):
            return Question(tokens, hits, number, float(size or 0) / (number or 1))
        return Question(tokens, hits, 0, 0.0)

    async def matching(
        self, question: Question, most: int, only: Collection[str] | None = None
    ) -> dict[int, float]:
        """Return pages with a word of the question: by id their BM25, the best first.

        Args:
            question: The question.
            most: The maximum number of pages.
            only: The documents; None for all.
        """
        repeats = Counter(question.tokens.values())
        weights = {
            token: repeats[token] * _weight(hits, question.pages)
            for token, hits in question.hits.items()
        }
        # Common words have the most pages and decide nothing, unless there is nothing else.
        telling = {
            token: weight
            for token, weight in weights.items()
            if 2 * question.hits[token] < question.pages
        }
        best = await self._scored(question, telling, most, only)
        if len(best) < most and len(telling) < len(weights):
            best = await self._scored(question, weights, most, only)
        return {row.page: row.score for row in best}

    async def matched_words(self, question: Question, ids: Collection[int]) -> dict[int, float]:
        """Return the share of a question's words in each page, weighted by their rarity.

        Args:
            question: The question.
            ids: The pages.

        Returns:
            By id: 1 stands for the three rarest words, each once on a page of average length.
        """
        counts = {word: question.hits.get(token, 0) for word, token in question.tokens.items()}
        weights: dict[str, float] = defaultdict(float)
        for word, weight in shares(counts, question.pages).items():
            weights[question.tokens[word]] += weight  # words of one stem count each
        terms, chosen = self._listed(weights), self._listed(ids)
        occurrences = select(_WORDS.word, _WORDS.page, _frequency(question)).where(
            _WORDS.collection == self._collection,
            _WORDS.word.in_(select(terms.c.key)),
            _WORDS.page.in_(select(cast(chosen.c.key, BigInteger))),
        )
        return matched((tuple(row) for row in await self._database.rows(occurrences)), weights)

    async def nearest(
        self, mean: Vectors, most: int, only: Collection[str] | None = None
    ) -> list[int]:
        """Return the ids of the pages whose mean vector is nearest to another one.

        Args:
            mean: The other one, of length 1.
            most: The maximum number of pages.
            only: The documents; None for all.
        """
        summaries = await self._all_summaries()
        ids = (
            None
            if only is None
            else [id_ for (id_,) in await self._database.rows(self._ids_of(only))]
        )
        return await asyncio.to_thread(_nearest, summaries, mean, most, ids)

    async def read(self, ids: Collection[int], dim: int) -> list[StoredPage]:
        """Return pages by their ids, of those that are still there."""
        chosen = self._listed(ids)
        columns = _PAGES.id, _PAGES.sha256, _PAGES.page, _PAGES.text, _PAGES.figures, _PAGES.words
        query = select(*columns).where(
            self._here, _PAGES.id.in_(select(cast(chosen.c.key, BigInteger)))
        )
        return [
            StoredPage(
                id=row.id,
                sha256=row.sha256,
                page=row.page,
                text=row.text,
                figures=read_figures(row.figures),
                words=read_words(row.words, dim),
            )
            for row in await self._database.rows(query.order_by(_PAGES.id))
        ]

    @property
    def _here(self) -> ColumnElement[bool]:
        return _PAGES.collection == self._collection

    def _ids_of(self, documents: Collection[str]) -> Select[tuple[int]]:
        chosen = self._listed(documents)
        return select(_PAGES.id).where(self._here, _PAGES.sha256.in_(select(chosen.c.key)))

    async def _scored(
        self,
        question: Question,
        weights: Mapping[str, float],
        most: int,
        only: Collection[str] | None,
    ) -> Sequence[Row[*tuple[Any, ...]]]:
        if not weights:
            return []
        terms = self._entries(weights)
        score = func.sum(cast(terms.c.value, Float) * _frequency(question)).label("score")
        query = select(_WORDS.page, score).where(
            _WORDS.collection == self._collection, _WORDS.word == terms.c.key
        )
        if only is not None:
            query = query.where(_WORDS.page.in_(self._ids_of(only)))
        best = query.group_by(_WORDS.page).order_by(score.desc(), _WORDS.page).limit(most)
        return await self._database.rows(best)

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

    def _listed(self, values: Collection[object]) -> TableValuedAlias:
        """Return a table with values in its column `key`, as texts."""
        return self._entries(dict.fromkeys(values))

    def _entries(self, mapping: Mapping[Any, object]) -> TableValuedAlias:
        """Return a table with the keys and values of a mapping: any number for one parameter."""
        written = bindparam(None, json.dumps(mapping), Text)
        if self._database.shared:
            each = func.jsonb_each(cast(written, JSONB))
            return each.table_valued(column("key", Text), column("value", JSONB))
        return func.json_each(written).table_valued(column("key", Text), column("value", Float))


def _frequency(question: Question) -> ColumnElement[Any]:
    length = 0.25 + 0.75 * _WORDS.size / max(question.size, 1e-9)
    return _WORDS.times * 2.2 / (_WORDS.times + 1.2 * length)


def _weight(hits: int, total: int) -> float:
    return math.log((total - hits + 0.5) / (hits + 0.5)) if 2 * hits < total else _COMMON


def _decoded(rows: Sequence[Row[*tuple[Any, ...]]]) -> _Summaries:
    vectors = np.array([np.frombuffer(row.summary, np.float16) for row in rows], np.float32)
    return _Summaries(np.array([row.id for row in rows], np.int64), vectors)


def _nearest(
    summaries: _Summaries, mean: Vectors, most: int, only: Sequence[int] | None
) -> list[int]:
    if not len(summaries.ids):
        return []
    near = summaries.vectors @ mean
    count = min(most, len(near))
    if only is not None:
        allowed = np.isin(summaries.ids, only)
        near, count = np.where(allowed, near, -np.inf), min(count, int(allowed.sum()))
    if not count:
        return []
    best = np.argpartition(-near, count - 1)[:count]
    return [int(id_) for id_ in summaries.ids[best]]
