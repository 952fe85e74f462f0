"""A store is copied between a folder and PostgreSQL, and both are the same afterwards."""

import json
import shutil
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import asyncpg
import pytest
from assistants.postgres import Postgres
from heddle_knowledge.copying.copying import SEARCHES, PartResult, Progress, copy_store
from heddle_knowledge.copying.side import Place, open_target
from heddle_knowledge.engines.conditions import Compare
from heddle_knowledge.errors import InvalidInputError, StorageError
from heddle_knowledge.store import open_store
from heddle_knowledge.testing import HashingEmbedder
from heddle_runtime.object_store import ObjectStore
from knowledge.copying import copy_until_killed
from knowledge.copying.stores import COLLECTIONS, DOCUMENTS, collection_ids, contents
from runtime.examples import sampled
from s3_server import BUCKET, S3Server

PREFIX = "uni/copied"
FILES, PICTURES = 6, 3
EVENTS = 36
"""Of a copy of the store: progress and results."""


async def copied(source: Place, target: Place, *, delete: bool = False) -> dict[str, PartResult]:
    """Copy, and return the result of each part."""
    events = [event async for event in copy_store(source, target, delete=delete)]
    return {event.part: event for event in events if isinstance(event, PartResult)}


def differences(results: dict[str, PartResult]) -> list[str]:
    return [each for result in results.values() for each in result.differences]


def counts(results: dict[str, PartResult]) -> dict[str, int]:
    return {part: result.copied for part, result in results.items() if result.copied}


async def test_a_store_goes_from_a_folder_to_a_database_to_another_one_and_back(
    filled: Place, database: str, other_database: str, object_server: S3Server, tmp_path: Path
) -> None:
    objects = ObjectStore(f"s3://{BUCKET}/{PREFIX}", object_server.options)
    with_objects = Place(other_database, objects)
    places = [filled, Place(database), with_objects, Place(str(tmp_path / "back"))]
    before = await contents(filled)
    documents = len(COLLECTIONS) * DOCUMENTS + 1

    for source, target in pairwise(places):
        results = await copied(source, target)
        assert counts(results) == {
            "collections": 7, "documents": documents, "documents of graphs": 3,
            "documents with pages": 2, "uploaded files": FILES,
            "files of collections": FILES - 1, "batches of files": 1,
        }  # fmt: skip
        assert differences(results) == []
        assert results[SEARCHES].items == 2 * (5 * len(COLLECTIONS) + 1)
        assert await contents(target) == before
    assert len(object_server.keys(PREFIX)) == FILES + PICTURES


async def test_a_second_copy_changes_nothing(filled: Place, database: str) -> None:
    await copied(filled, Place(database))
    results = await copied(filled, Place(database))
    assert counts(results) == {}
    assert results["documents"].items == len(COLLECTIONS) * DOCUMENTS + 1
    assert differences(results) == []


@pytest.mark.parametrize("event", sampled(range(EVENTS), 2))
async def test_a_copy_that_is_killed_is_completed_by_the_next_one(
    filled: Place, database: str, event: int
) -> None:
    assert _copy_until_killed(filled, database, event) == -signal.SIGKILL
    results = await copied(filled, Place(database))
    assert differences(results) == []
    assert await contents(Place(database)) == await contents(filled)


@pytest.mark.exhaustive
@pytest.mark.parametrize("milliseconds", range(1, 200, 8))
async def test_a_copy_that_is_killed_within_a_step_is_completed_by_the_next_one(
    filled: Place, database: str, milliseconds: int
) -> None:
    event = 0 if milliseconds % 2 else 8  # the first collection, or the first documents
    code = _copy_until_killed(filled, database, event, milliseconds / 1000)
    assert code in {0, -signal.SIGKILL}
    results = await copied(filled, Place(database))
    assert differences(results) == []
    assert await contents(Place(database)) == await contents(filled)


async def test_what_changes_between_two_copies_is_copied_and_deleted(
    filled: Place, database: str, tmp_path: Path
) -> None:
    source, target = Place(str(tmp_path / "source")), Place(database)
    shutil.copytree(filled.address, source.address)
    await copied(source, target)
    ids = await collection_ids(source)
    async with open_store(source.address, HashingEmbedder()) as store:
        await store.documents.delete(ids["looms"], "looms-1.md")
        async for _ in store.documents.ingest(ids["wefts"], "wefts-2.md", b"It is another text."):
            pass
        await store.collections.delete(ids["shuttles"])

    with pytest.raises(InvalidInputError, match="The target has collections"):
        await copied(source, target)
    results = await copied(source, target, delete=True)
    assert counts(results) == {"documents": 1}
    assert results["collections"].deleted == 1
    assert differences(results) == []
    assert await contents(target) == await contents(source)


async def test_a_copy_is_refused_if_there_is_no_store(tmp_path: Path, database: str) -> None:
    for place in (Place(str(tmp_path / "none")), Place(database)):
        with pytest.raises(InvalidInputError, match="There is no knowledge store"):
            await copied(place, Place(str(tmp_path / "target")))
    assert not (tmp_path / "none").exists()
    with pytest.raises(InvalidInputError, match="a folder or"):
        await copied(Place("s3://bucket/prefix"), Place(str(tmp_path / "target")))


async def test_a_text_with_nul_is_the_same_in_a_database_which_stores_none(
    filled: Place, database: str, tmp_path: Path
) -> None:
    source = Place(str(tmp_path / "source"))
    shutil.copytree(filled.address, source.address)
    async with open_target(source) as side:
        [record] = [each for each in await side.records() if each.name == "looms"]
        handle = await side.collections.open(record)
        async with handle.writing():
            await handle.table.update({"title": "A \0."}, Compare("document", "=", "looms-0.md"))
    assert differences(await copied(source, Place(database))) == []
    assert counts(await copied(source, Place(database))) == {}


async def test_what_is_damaged_on_the_target_is_copied_again(filled: Place, database: str) -> None:
    await copied(filled, Place(database))
    connection = await asyncpg.connect(database)
    ids = await collection_ids(filled)
    table = f"heddle_knowledge.chunks_{ids['looms']}"
    for statement in (
        f"UPDATE {table} SET title = 'x' WHERE document = 'looms-3.md'",  # noqa: S608 - our own
        f"DELETE FROM {table} WHERE document = 'looms-19.md' AND ordinal > 0",  # noqa: S608 - our own
    ):
        await connection.execute(statement)
    await connection.execute("UPDATE heddle_knowledge.uploads SET content = 'x'")
    await connection.close()

    results = await copied(filled, Place(database))
    assert counts(results) == {"documents": 2, "uploaded files": FILES}
    assert await contents(Place(database)) == await contents(filled)


async def test_a_database_that_goes_away_ends_a_copy_with_the_cause_and_the_next_one_completes_it(
    filled: Place, database: str, vector_server: Postgres
) -> None:
    name = vector_server.name(database)
    with pytest.raises(StorageError, match=r"Repeat it|(cannot|could not) be (opened|read)"):
        async for event in copy_store(filled, Place(database)):
            if isinstance(event, Progress) and event.part == "documents":
                vector_server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
                vector_server.execute(
                    "DO $$ BEGIN PERFORM pg_terminate_backend(pid) FROM pg_stat_activity "
                    f"WHERE datname = '{name}'; END $$"
                )
    vector_server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    assert differences(await copied(filled, Place(database))) == []
    assert await contents(Place(database)) == await contents(filled)


def test_the_command_copies_and_compares(filled: Place, database: str, tmp_path: Path) -> None:
    first = _command(filled.address, database)
    assert (first.returncode, first.stderr) == (0, "")
    assert "documents: 61, 61 copied, 0 deleted" in first.stdout
    assert "32 searches compared" in first.stdout
    second = _command(filled.address, database, "--json")
    results = [json.loads(line) for line in second.stdout.splitlines()]
    assert {each["copied"] for each in results} == {0}
    third = _command(str(tmp_path / "none"), database)
    assert third.returncode == 1
    assert "There is no knowledge store" in third.stderr


def _command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "heddle_cli", "knowledge", "copy", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own


def _copy_until_killed(source: Place, target: str, event: int, seconds: float = 0) -> int:
    """Return the exit code."""
    script = copy_until_killed.__file__
    command = [sys.executable, script, source.address, target, str(event), str(seconds)]
    return subprocess.run(command, check=False).returncode  # noqa: S603 - our own
