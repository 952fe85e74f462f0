"""What the health of the knowledge service says about its store."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from heddle_knowledge.embedders.embedding import Embedder
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.service.lazy_store import LazyStore, Storage
from heddle_runtime.serving.readiness import Readiness
from patience import until
from runtime.ports import free_port


@asynccontextmanager
async def english() -> AsyncGenerator[Sequence[Embedder]]:
    async with LocalEmbedder() as embedder:
        yield [embedder]


async def test_a_folder_that_disappears_is_a_problem_and_an_unused_one_is_none(
    tmp_path: Path,
) -> None:
    async with LazyStore(Storage(tmp_path / "store"), english) as store:
        readiness = Readiness({"store": store.check})
        await readiness.update()
        assert readiness.serving
        assert not (tmp_path / "store").exists()

        await store.get()
        await readiness.update()
        assert readiness.serving

        async def is_noticed() -> bool:
            # Maintenance that began with the store may write into the folder once more.
            shutil.rmtree(tmp_path / "store", ignore_errors=True)
            await readiness.update()
            return not readiness.serving

        await until(is_noticed)
        assert "could not be read" in readiness.conditions["store"].problem


async def test_a_store_is_opened_at_the_start_if_its_folder_has_tables(tmp_path: Path) -> None:
    async with LazyStore(Storage(tmp_path), english) as store:
        (tmp_path / "audit.db").touch()
        assert not store.opening
        await store.get()
    async with LazyStore(Storage(tmp_path), english) as store:
        assert store.opening
        await store.get()


@pytest.mark.timeout(60)
async def test_a_database_server_that_does_not_answer_is_a_problem(tmp_path: Path) -> None:
    place = f"postgresql://heddle:secret-word@127.0.0.1:{free_port()}/heddle"
    async with LazyStore(Storage(place), english, beside=tmp_path) as store:
        readiness = Readiness({"store": store.check})
        for _ in range(200):  # the engine is loaded first
            await readiness.update()
            if not readiness.serving:
                break
            await asyncio.sleep(0.1)
        assert not readiness.serving
        assert "secret-word" not in readiness.conditions["store"].problem
