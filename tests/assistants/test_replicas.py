"""Two replicas, readers on both, edits through both: one migration per row, and no edit lost."""

import asyncio
import json
import random
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from assistants.replicas import replica
from assistants.serving import ADA, Caller
from assistants.stored import TEXT, everything, keep_many
from heddle_runtime.errors import ConflictError
from heddle_runtime.storage.database.engine import Database
from runtime.examples import mostly_on, repetitions

ROWS = repetitions(600)
READERS = repetitions(50)
"""On each replica."""
READS = repetitions(60)
"""Of each reader."""
QUOTA_EDITS = repetitions(600)
EDITS = repetitions(300)
WRITERS = 15
"""On each replica, of each kind."""


async def read(caller: Caller, first: int) -> None:
    """Use one assistant after the other, as others do at the same time."""
    for step in range(READS):
        number = str((first + step) % ROWS + 1)
        got = await caller.get(number)
        assert got.assistant.tools[0].tool == "simple_rag"


async def edit_quota(caller: Caller, edits: list[tuple[int, int]]) -> None:
    """Change a member of the metadata, as LAMB does without looking at the rest."""
    for number, edit in edits:
        quota = json.dumps({f"quota_{edit}": {"cost_limit_usd": edit}})
        await caller.edit(str(number), metadata_json=quota)


async def edit_description(caller: Caller, edits: list[tuple[int, int]]) -> None:
    """Add a word to what is there, again if it changed meanwhile."""
    for number, edit in edits:
        while True:
            got = await caller.get(str(number))
            got.assistant.description += f"{edit} "
            try:
                await caller.update(got.assistant, got.etag)
            except ConflictError:
                continue
            break


@pytest.mark.exhaustive
@mostly_on("dialect", "postgresql", "sqlite")
@pytest.mark.timeout(300)
async def test_each_row_is_migrated_once_and_no_edit_is_lost(
    database_url: str, database: Database, tmp_path: Path
) -> None:
    await keep_many(database, [{"name": f"a{number}"} for number in range(ROWS)])
    dice = random.Random(7)  # noqa: S311 - a test's dice
    quotas = [(dice.randint(1, ROWS), edit) for edit in range(QUOTA_EDITS)]
    words = [(dice.randint(1, ROWS), edit) for edit in range(EDITS)]
    logs = [tmp_path / "first.log", tmp_path / "second.log"]
    async with (
        replica(database_url, logs[0]) as first,
        replica(database_url, logs[1]) as second,
        asyncio.TaskGroup() as tasks,
    ):
        for side, service in enumerate((first, second)):
            caller = service.as_(ADA)
            for reader in range(READERS):
                tasks.create_task(read(caller, reader * ROWS // READERS))
            for writer in range(WRITERS):
                share = slice(2 * writer + side, None, 2 * WRITERS)
                tasks.create_task(edit_quota(caller, quotas[share]))
                tasks.create_task(edit_description(caller, words[share]))

    migrated = Counter(number for each in (first, second) for number in each.migrated())
    assert migrated == Counter(range(1, ROWS + 1))
    found = await everything(database)
    rows, beside = found[:ROWS], found[ROWS:]
    assert [(each.assistant_id, each.metadata) for each in beside] == [
        (number, TEXT) for number in range(1, ROWS + 1)
    ]
    assert {row.id: quotas_of(row.metadata) for row in rows} == {
        row.id: grouped(quotas)[row.id] for row in rows
    }
    assert {row.id: sorted(map(int, (row.description or "").split())) for row in rows} == {
        row.id: grouped(words)[row.id] for row in rows
    }


def quotas_of(metadata: str) -> list[int]:
    document = json.loads(metadata)
    assert document["_format_version"] == 2
    return sorted(int(key.removeprefix("quota_")) for key in document if key.startswith("quota_"))


def grouped(edits: list[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for number, edit in edits:
        found[number].append(edit)
    return found
