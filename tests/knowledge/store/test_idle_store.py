"""A store without calls gives back memory, and works as before afterwards."""

import asyncio
import weakref
from pathlib import Path

import pytest
from heddle_knowledge.collection.registry import new_collection
from heddle_knowledge.collection.store import open_collection_store
from heddle_knowledge.embedders.embedding import EmbedderInfo
from heddle_knowledge.engines.address import open_engine

SECONDS = 0.05


@pytest.mark.parametrize("used", [False, True])
async def test_an_idle_store_lets_go_of_its_tables_unless_they_are_used(
    tmp_path: Path, used: bool
) -> None:
    info = EmbedderInfo("m", 4, "1", 256)
    async with (
        open_engine(str(tmp_path), {}) as engine,
        open_collection_store(engine, SECONDS) as store,
    ):
        looms = new_collection("looms", "embedded", info, title="", settings={})
        await store.add(looms)
        handle = await store.open(looms)
        table = handle.table
        gone = weakref.ref(table)
        if not used:
            del handle, table
        async with asyncio.timeout(30):
            while (await store.open(looms)).table is gone():
                await asyncio.sleep(4 * SECONDS)  # every use delays it
        assert (gone() is not None) is used
        if used:
            assert await table.count() == 0
        assert [each.name for each in (await store.registry.all()).values()] == ["looms"]
        await store.add(new_collection("wefts", "embedded", info, title="", settings={}))
        assert len(await store.registry.all()) == 2
