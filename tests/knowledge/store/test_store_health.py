"""What the health of the knowledge service says about its store."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from heddle_knowledge.service.lazy_store import LazyStore
from heddle_knowledge.settings import KnowledgeSettings
from heddle_runtime.serving.readiness import Readiness
from integration.browser import browser
from patience import until
from pydantic import SecretStr
from runtime.ports import free_port


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with browser() as client:
        yield client


async def test_a_folder_that_disappears_is_a_problem_and_an_unused_one_is_none(
    tmp_path: Path, http: httpx.AsyncClient
) -> None:
    async with LazyStore(KnowledgeSettings(data_dir=tmp_path / "store"), http) as store:
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


async def test_a_store_is_opened_at_the_start_if_its_folder_has_tables(
    tmp_path: Path, http: httpx.AsyncClient
) -> None:
    async with LazyStore(KnowledgeSettings(data_dir=tmp_path), http) as store:
        (tmp_path / "audit.db").touch()
        assert not store.opening
        await store.get()
    async with LazyStore(KnowledgeSettings(data_dir=tmp_path), http) as store:
        assert store.opening
        await store.get()


@pytest.mark.timeout(60)
async def test_a_database_server_that_does_not_answer_is_a_problem(
    tmp_path: Path, http: httpx.AsyncClient
) -> None:
    place = f"postgresql://heddle:secret-word@127.0.0.1:{free_port()}/heddle"
    settings = KnowledgeSettings(store_url=SecretStr(place), data_dir=tmp_path)
    async with LazyStore(settings, http) as store:
        readiness = Readiness({"store": store.check})
        for _ in range(200):  # the engine is loaded first
            await readiness.update()
            if not readiness.serving:
                break
            await asyncio.sleep(0.1)
        assert not readiness.serving
        assert "secret-word" not in readiness.conditions["store"].problem
