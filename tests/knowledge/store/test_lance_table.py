"""What optimising a table of LanceDB does to its files and indexes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from heddle_knowledge.engines.conditions import EVERYTHING, Compare, In
from heddle_knowledge.engines.interface import Layout
from heddle_knowledge.engines.lance import open_folder
from heddle_knowledge.engines.lance_table import LanceTable
from heddle_knowledge.engines.languages import ENGLISH
from knowledge.store.vector_indexes import has_vector_index
from runtime.examples import sampled

DIM = 8
NEVER = 10**9
SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("text", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), DIM)),
    ]
)
LAYOUT = Layout("chunks", SCHEMA, keys=("name",), words="text", vector="vector")


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[LanceTable]:
    async with open_folder(tmp_path) as engine:
        yield await engine.make("chunks", LAYOUT)


def rows(first: int, count: int) -> pa.Table:
    """Return rows, each with a word of its own."""
    numbers = range(first, first + count)
    vectors = np.random.default_rng(first).normal(size=(count, DIM)).astype(np.float32)
    columns = [
        pa.array([f"n{number}" for number in numbers]),
        pa.array([f"thread w{number}" for number in numbers]),
        pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIM),
    ]
    return pa.table(columns, schema=SCHEMA)


async def add(table: LanceTable, first: int, count: int) -> None:
    """Add rows in one commit."""
    await table.append(rows(first, count))


async def found(table: LanceTable, word: str) -> list[str]:
    fit = await table.matching(word, ["name"], EVERYTHING, 1_000)
    return [str(name) for name in fit.column("name").to_pylist()]


async def files(table: LanceTable) -> int:
    stats: Any = await table.opened.stats()
    return int(stats["fragment_stats"]["num_fragments"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("ann_rows", sampled([20, NEVER], 1))
async def test_many_small_commits_leave_few_files_and_complete_indexes(
    table: LanceTable, ann_rows: int
) -> None:
    rounds = 30
    for number in range(rounds):
        await add(table, number * 2, 1)
        await add(table, number * 2 + 1, 1)
        await table.optimize(ENGLISH, ann_rows)
        assert await files(table) <= (2 if ann_rows == NEVER else 14)
    for index in await table.opened.list_indices():
        stats = await table.opened.index_stats(index.name)
        assert stats is not None
        assert stats.num_unindexed_rows == 0
        assert (stats.num_indices or 0) <= 11
    assert sorted(await found(table, "thread")) == sorted(f"n{n}" for n in range(rounds * 2))
    assert await found(table, "w17") == ["n17"]


async def test_vectors_are_indexed_from_so_many_rows_on(table: LanceTable) -> None:
    await add(table, 0, 299)
    await table.optimize(ENGLISH, 300)
    assert not await has_vector_index(table)
    await add(table, 299, 1)
    await table.optimize(ENGLISH, 300)
    assert await has_vector_index(table)
    await add(table, 300, 4)
    everything = await table.nearest(np.ones(DIM, np.float32), ["name"], EVERYTHING, 400)
    assert everything.num_rows == 304


async def test_what_changes_after_vectors_are_indexed_is_found_as_it_is(table: LanceTable) -> None:
    await add(table, 0, 300)
    await table.optimize(ENGLISH, 100)
    moved = rows(0, 1).set_column(2, SCHEMA.field("vector"), rows(77, 1).column("vector"))
    await table.replace(Compare("name", "=", "n0"), moved)
    await table.delete(Compare("name", "=", "n6"))
    for _ in range(2):
        (asked,) = rows(77, 1).column("vector").to_pylist()
        nearest = await table.nearest(np.array(asked, np.float32), ["name"], EVERYTHING, 299)
        names = nearest.column("name").to_pylist()
        assert names[0] == "n0"
        assert sorted(names) == sorted(f"n{number}" for number in range(300) if number != 6)
        assert await found(table, "w6") == []
        await table.optimize(ENGLISH, 100)


async def test_commits_and_searches_go_on_beside_an_optimisation(table: LanceTable) -> None:
    await add(table, 0, 2_000)
    optimizing = asyncio.create_task(table.optimize(ENGLISH, 100))
    number = 2_000
    while not optimizing.done():
        await add(table, number, 1)
        assert await found(table, f"w{number}") == [f"n{number}"]
        number += 1
    await optimizing
    assert await table.count() == number


@pytest.mark.parametrize("limit", [1, 200, 201, 299])
async def test_an_index_of_vectors_finds_as_many_as_are_asked_for(
    table: LanceTable, limit: int
) -> None:
    await add(table, 0, 600)
    await table.optimize(ENGLISH, 100)
    nearest = await table.nearest(np.ones(DIM, np.float32), ["name"], EVERYTHING, limit)
    assert nearest.num_rows == limit


@pytest.mark.parametrize("kept", [1, 7, 40])
async def test_a_condition_leaves_as_many_rows_as_match_it(table: LanceTable, kept: int) -> None:
    await add(table, 0, 2_000)
    await table.optimize(ENGLISH, 100)
    names = tuple(f"n{number * 50}" for number in range(kept))
    vector = np.ones(DIM, np.float32)
    nearest = await table.nearest(vector, ["name"], In("name", names), 50)
    assert sorted(nearest.column("name").to_pylist()) == sorted(names)
