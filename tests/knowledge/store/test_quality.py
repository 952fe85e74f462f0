"""How well labelled questions are answered, with the real model: the gate for every change."""

import json
import math
from collections.abc import AsyncIterator
from importlib.resources import files

import pytest
import pytest_asyncio
from heddle_knowledge.collection.types import Mode
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.store import KnowledgeStore, open_store

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVERY = 8
FIRST, LAST = 5, 9  # the words of an answer that an excerpt has


def rows() -> list[dict[str, str]]:
    data = files("zaragoza_construction_faq") / "data/faq-en.jsonl"
    return [json.loads(line) for line in data.read_text().splitlines()][::EVERY]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def store(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KnowledgeStore]:
    folder = tmp_path_factory.mktemp("quality")
    async with LocalEmbedder() as embedder, open_store(folder, embedder) as opened:
        await opened.collections.create("faq")
        for row in rows():
            async for _ in opened.documents.ingest("faq", row["id"], row["a"].encode()):
                pass
        yield opened


async def quality(store: KnowledgeStore, queries: list[tuple[str, str]], mode: Mode) -> float:
    """Return the mean nDCG@10 of queries, each with the document that answers it."""
    gains = []
    for query, right in queries:
        found = await store.passages.search("faq", query, top_k=10, mode=mode)
        names = [passage.document for passage in found]
        gains.append(1 / math.log2(names.index(right) + 2) if right in names else 0.0)
    return sum(gains) / len(gains)


@pytest.mark.exhaustive
async def test_questions_in_other_words_are_answered_by_meaning(store: KnowledgeStore) -> None:
    questions = [(row["q"], row["id"]) for row in rows()]
    by_words, by_meaning, both = [
        await quality(store, questions, mode) for mode in ("text", "vector", "hybrid")
    ]
    assert by_meaning > 0.78
    assert by_words > 0.62
    assert both > 0.88
    assert both > max(by_words, by_meaning) - 0.03


@pytest.mark.exhaustive
async def test_excerpts_are_found_by_their_words(store: KnowledgeStore) -> None:
    excerpts = [(" ".join(row["a"].split()[FIRST:LAST]), row["id"]) for row in rows()]
    by_words, by_meaning, both = [
        await quality(store, excerpts, mode) for mode in ("text", "vector", "hybrid")
    ]
    assert by_words > by_meaning + 0.05  # else the excerpts prove nothing
    assert both > by_meaning + 0.05
    assert both > by_words - 0.05
