"""Thousands of assistants and documents move from SQLite and a folder to PostgreSQL.

Assistants are created over REST. Documents go through the ingestion, with an embedder that computes
vectors at once.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from assistants.postgres import Postgres
from backup.filled import add_assistant, counts, environment, run
from heddle_knowledge.store import open_store
from integration.browser import browser
from integration.whole import whole
from knowledge.store.putting import put
from runtime.examples import long_repetitions

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

_COUNT, _COLLECTIONS, _AT_ONCE = long_repetitions(10_000), 10, 32


async def _each(work: Callable[[int], Awaitable[object]]) -> None:
    """Do the work for each number, several at once."""
    numbers = iter(range(_COUNT))

    async def do() -> None:
        for number in numbers:
            await work(number)

    async with asyncio.TaskGroup() as workers:
        for _ in range(_AT_ONCE):
            workers.create_task(do())


async def _fill(folder: Path) -> None:
    async with whole(folder, "local") as heddle, browser(heddle.url, timeout=300) as client:
        await _each(lambda number: add_assistant(client, f"weaver-{number}"))
    async with open_store(folder / "knowledge", HashingEmbedder()) as store:
        for number in range(_COLLECTIONS):
            await store.collections.create(f"looms-{number}")
        await _each(
            lambda number: put(
                store,
                f"{number}.md",
                f"# Loom {number}\n\nThe shed of loom {number} opens.",
                f"looms-{number % _COLLECTIONS}",
            )
        )


@pytest.mark.exhaustive
@pytest.mark.timeout(3_000)
def test_thousands_of_assistants_and_documents_move_to_postgresql(
    vector_server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, archive = tmp_path / "first", tmp_path / "heddle.tar"
    first.mkdir()
    asyncio.run(_fill(first))
    run(f"backup {archive}", environment(first), monkeypatch)
    rows = counts(archive)
    assert rows["database/assistants"] == rows["database/assistant_versions"] == _COUNT
    assert rows["knowledge/passages"] == _COUNT

    run(f"restore {archive} --secrets {tmp_path}/secrets", environment(first), monkeypatch)
    for name in ("HEDDLE_ASSISTANTS_KEY_PEPPER", "HEDDLE_ASSISTANTS_ENCRYPTION_KEY"):
        monkeypatch.setenv(f"{name}_FILE", f"{tmp_path}/secrets/{name}")
    with vector_server.database() as url:
        served = environment(tmp_path / "served", database=url, store=url)
        run(f"restore {archive}", served, monkeypatch)
        again = tmp_path / "again.tar"
        run(f"backup {again}", served, monkeypatch)
        run(f"restore {again} --compare", environment(first), monkeypatch)
