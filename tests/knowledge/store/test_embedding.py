"""The embedding model: its vectors mean something; its worker survives, and ends in time."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import psutil
import pytest
import pytest_asyncio
from heddle_knowledge.embedders.embedding import MULTILINGUAL_E5, Kind, Vectors
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.embedders.model_files import checked
from heddle_knowledge.errors import EmbeddingError
from heddle_knowledge.store import open_store
from heddle_knowledge.workers import worker as worker_process

CAT = "A cat sleeps on the warm windowsill."
DOG = "The dog is barking at the postman."
TAX = "The income tax return is due in April."


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedder() -> AsyncIterator[LocalEmbedder]:
    async with LocalEmbedder() as made:
        yield made


async def test_vectors_are_normalised_and_near_for_what_is_near(embedder: LocalEmbedder) -> None:
    (query,) = await embedder.embed(["a kitten is napping"], "query")
    passages = await embedder.embed([DOG, CAT, TAX], "passage")
    assert passages.shape == (3, embedder.info().dim)
    assert passages.dtype == np.float32
    assert np.allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-5)
    assert np.argmax(passages @ query) == 1


@pytest.mark.exhaustive
async def test_thread_and_worker_agree_whatever_the_batch(embedder: LocalEmbedder) -> None:
    texts = [f"{CAT} {n} " * (n + 1) for n in range(20)]
    there = await embedder.embed(texts, "passage")
    here = await embedder.embed(texts, "query")
    assert (there * here).sum(axis=1).min() > 0.99


async def test_nothing_embeds_to_nothing_and_starts_no_worker() -> None:
    async with LocalEmbedder() as embedder:
        assert (await embedder.embed([], "passage")).shape == (0, 384)
        await embedder.embed(["question"], "query")
        assert embedder.worker.pid is None


async def test_a_query_has_the_same_vector_in_company(embedder: LocalEmbedder) -> None:
    queries = ["fees", CAT, f"{DOG} {TAX} " * 8]
    together = await embedder.embed(queries, "query")
    for query, vector in zip(queries, together, strict=True):
        assert np.array_equal(await embedder.embed([query], "query"), [vector])


class Counting(LocalEmbedder):
    """Notes how many queries each request has."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    async def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        self.sizes.append(len(texts))
        return await super().embed(texts, kind)


async def test_queries_that_wait_are_embedded_together(tmp_path: Path) -> None:
    async with Counting() as embedder, open_store(tmp_path, embedder) as store:
        await store.collections.create("notes")
        questions = [*(f"question {number}" for number in range(10)), "question 0"]
        searches = (store.passages.search("notes", each, top_k=1) for each in questions)
        assert await asyncio.gather(*searches) == [[]] * len(questions)
    assert sum(embedder.sizes) == 10
    assert len(embedder.sizes) < 4


async def test_very_long_and_odd_texts_embed(embedder: LocalEmbedder) -> None:
    vectors = await embedder.embed(["", "\0", "word " * 100_000, "é語🙂" * 500], "query")
    assert np.isfinite(vectors).all()


@pytest.mark.exhaustive
async def test_a_worker_that_dies_is_replaced(embedder: LocalEmbedder) -> None:
    await embedder.embed([CAT], "passage")
    first = embedder.worker.pid
    assert first
    os.kill(first, signal.SIGKILL)
    assert (await embedder.embed([CAT], "passage")).shape == (1, 384)
    running = asyncio.create_task(embedder.embed([f"{DOG} {n}" for n in range(200)], "passage"))
    second = embedder.worker.pid
    assert second not in {None, first}
    await asyncio.sleep(0.3)
    assert second
    os.kill(second, signal.SIGKILL)
    assert (await running).shape == (200, 384)


@pytest.mark.exhaustive
async def test_a_worker_that_keeps_dying_is_a_typed_error(embedder: LocalEmbedder) -> None:
    await embedder.embed([CAT], "passage")
    running = asyncio.create_task(embedder.embed([f"{DOG} {n}" for n in range(400)], "passage"))
    seen = set()
    while not running.done():
        if (pid := embedder.worker.pid) and pid not in seen:
            await asyncio.sleep(0.2)
            seen.add(pid)
            os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.01)
    with pytest.raises(EmbeddingError, match="failed twice"):
        await running
    assert len(seen) == 2


async def test_a_cancelled_request_does_not_confuse_the_next(embedder: LocalEmbedder) -> None:
    await embedder.embed([CAT], "passage")
    running = asyncio.create_task(embedder.embed([TAX] * 100, "passage"))
    await asyncio.sleep(0.1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    (cat,) = await embedder.embed([CAT], "passage")
    (query,) = await embedder.embed([CAT], "query")
    assert cat @ query > 0.99


async def test_the_worker_is_nice_sees_no_secrets_and_ends_with_the_embedder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_process, "subprocess", subprocess)
    monkeypatch.setenv("HEDDLE_SECRET", "s3cret")
    async with LocalEmbedder() as embedder:
        await embedder.embed([CAT], "passage")
        pid = embedder.worker.pid
        assert pid
        worker = psutil.Process(pid)
        assert worker.nice() >= psutil.Process().nice() + 10
        assert worker.environ()["OMP_NUM_THREADS"] == "1"
        assert "HEDDLE_SECRET" not in worker.environ()
    assert not psutil.pid_exists(pid)
    with pytest.raises(EmbeddingError, match="closed"):
        await embedder.embed([CAT], "passage")


async def test_a_model_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(EmbeddingError, match="missing"):
        checked(path, "0" * 64, "package==1")
    path.write_bytes(b"other")
    with pytest.raises(EmbeddingError, match="Install package==1"):
        checked(path, "0" * 64, "package==1")


@pytest.mark.exhaustive
async def test_the_multilingual_model_knows_what_is_meant_in_another_language() -> None:
    swedish = ["Skatten ska betalas i april.", "Hunden skäller på brevbäraren.", "\0 x"]
    async with LocalEmbedder(MULTILINGUAL_E5) as embedder:
        passages = await embedder.embed(swedish, "passage")
        (query,) = await embedder.embed(["Wann muss ich meine Steuern zahlen?"], "query")
        assert passages.shape == (3, embedder.info().dim)
        assert np.allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-3)
        assert np.argmax(passages @ query) == 0
        (as_query,) = await embedder.embed(swedish[:1], "query")
        assert not np.allclose(as_query, passages[0], atol=1e-3)
