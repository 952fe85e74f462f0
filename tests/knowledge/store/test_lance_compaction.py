"""What the upkeep of a table of LanceDB makes of its files and the parts of its indexes."""

from collections.abc import AsyncIterator
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest
from heddle_knowledge.engines.conditions import EVERYTHING, Compare
from heddle_knowledge.engines.interface import Layout
from heddle_knowledge.engines.lance import open_folder
from heddle_knowledge.engines.lance_compaction import parts_to_merge
from heddle_knowledge.engines.lance_table import LanceTable

DIM = 8
MANY = 2_048
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


async def parts(table: LanceTable, column: str) -> list[int]:
    """Return the rows of each part of an index, the oldest first."""
    dataset = lance.dataset(await table.opened.uri())
    counts = {each.fragment_id: each.count_rows() for each in dataset.get_fragments()}
    (found,) = [each for each in dataset.describe_indices() if column in each.field_names]
    return [sum(counts[each] for each in part.fragment_ids) for part in found.segments]


async def found(table: LanceTable, word: str) -> list[str]:
    fit = await table.matching(word, ["name"], EVERYTHING, 1_000)
    return [str(name) for name in fit.column("name").to_pylist()]


@pytest.mark.parametrize(
    ("held", "new", "factor", "merged"),
    [
        ([], 10, 1, 0),
        ([100], 10, 1, 0),
        ([100, 10], 10, 1, 1),
        ([100, 20, 10], 10, 1, 2),
        ([100, 21, 10], 10, 1, 1),
        ([40, 20, 10], 10, 1, 3),
        ([100, 5], 10, 8, 2),
        ([1_000, 5], 10, 8, 1),
        ([0], 1, 1, 1),
    ],
)
def test_parts_are_merged_while_they_are_not_too_large(
    held: list[int], new: int, factor: int, merged: int
) -> None:
    assert parts_to_merge(held, new, factor) == merged


async def test_many_small_commits_leave_few_files_and_few_parts(table: LanceTable) -> None:
    rounds = 24
    for number in range(rounds):
        await add(table, number * 2, 1)
        await add(table, number * 2 + 1, 1)
        await table.tidy(None)
        await table.index_rows()
    sizes = await parts(table, "text")
    assert sum(sizes) == rounds * 2
    assert len(sizes) <= 3
    assert sizes == await parts(table, "name")
    assert len(lance.dataset(await table.opened.uri()).get_fragments()) <= 8
    assert sorted(await found(table, "thread")) == sorted(f"n{n}" for n in range(rounds * 2))
    assert await found(table, "w17") == ["n17"]


async def test_vectors_are_indexed_as_of_a_state_while_later_files_are_merged(
    table: LanceTable,
) -> None:
    await add(table, 0, 150)
    await add(table, 150, 150)
    assert await table.vectors_due(301) is None
    state = await table.vectors_due(300)
    assert state is not None
    for number in range(300, 304):
        await add(table, number, 1)
    await table.tidy(state)
    await table.index_rows()
    files = [each.count_rows() for each in lance.dataset(await table.opened.uri()).get_fragments()]
    assert sorted(files) == [4, 150, 150]
    await table.index_vectors(state)
    assert await parts(table, "vector") == [300]
    everything = await table.nearest(np.ones(DIM, np.float32), ["name"], EVERYTHING, 400)
    assert everything.num_rows == 304
    assert await table.vectors_due(300) is None


async def test_what_changes_while_vectors_are_indexed_is_found_as_it_is(table: LanceTable) -> None:
    await add(table, 0, 300)
    state = await table.vectors_due(100)
    assert state is not None
    moved = rows(0, 1).set_column(2, SCHEMA.field("vector"), rows(77, 1).column("vector"))
    await table.replace(Compare("name", "=", "n0"), moved)
    await table.delete(Compare("name", "=", "n6"))
    await table.index_vectors(state)
    (asked,) = rows(77, 1).column("vector").to_pylist()
    nearest = await table.nearest(np.array(asked, np.float32), ["name"], EVERYTHING, 299)
    names = nearest.column("name").to_pylist()
    assert names[0] == "n0"
    assert sorted(names) == sorted(f"n{number}" for number in range(300) if number != 6)
    await table.tidy(None)
    assert await found(table, "w6") == []


@pytest.mark.parametrize("limit", [1, 200, 201, 299])
async def test_an_index_of_vectors_finds_as_many_as_are_asked_for(
    table: LanceTable, limit: int
) -> None:
    await add(table, 0, 600)
    state = await table.vectors_due(100)
    assert state is not None
    await table.index_vectors(state)
    nearest = await table.nearest(np.ones(DIM, np.float32), ["name"], EVERYTHING, limit)
    assert nearest.num_rows == limit


@pytest.mark.exhaustive
async def test_graphs_of_vectors_are_merged_when_they_are_of_one_size(table: LanceTable) -> None:
    seen = []
    for number in range(4):
        await add(table, number * MANY, MANY)
        state = await table.vectors_due(100)
        assert state is not None
        await table.index_vectors(state)
        seen.append(await parts(table, "vector"))
    assert seen == [[MANY], [2 * MANY], [2 * MANY, MANY], [4 * MANY]]
