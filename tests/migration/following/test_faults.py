"""What Heddle does when LAMB's database, or a row of it, cannot be followed."""

import asyncio
import gc
import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from assistants.database.rows import add_assistant, add_organization
from assistants.serving import serving
from heddle.health.v1 import health_pb2, health_pb2_grpc
from heddle_migration_service.following.comparing import MAX_CHANGED, compare
from heddle_migration_service.following.file_state import file_state
from heddle_migration_service.following.rows import SOURCES, Known
from heddle_migration_service.lamb import UNASSIGNED
from heddle_migration_service.lamb.mounts import is_remote
from heddle_runtime.storage.database.engine import Database, open_database
from migration.following.following import (
    METADATA,
    PAUSE,
    TUTOR,
    Followed,
    both_sides,
    following,
    small_lamb,
)
from migration.lamb.lamb_database import Lamb


@pytest.fixture
async def both(database_url: str, tmp_path: Path) -> AsyncIterator[Followed]:
    async with following(database_url, small_lamb(tmp_path / "lamb_v4.db")) as sides:
        await sides.until_followed("assistants", 1)
        yield sides


async def problem(sides: Followed) -> str:
    """Wait for a problem and return it."""
    while not (text := (await sides.status()).report.problem):
        await asyncio.sleep(PAUSE)
    return text


@pytest.mark.exhaustive
async def test_a_database_that_is_not_there_is_reported_and_followed_when_it_is(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "lamb_v4.db"
    async with serving(database_url, followed=path) as service:
        sides = both_sides(Lamb(path), database, service)
        assert "lamb_v4.db cannot be read: No such file or directory" in await problem(sides)
        stub = health_pb2_grpc.HealthServiceStub(sides.admin.connection)
        health = await sides.admin.ask(stub.GetHealth, health_pb2.GetHealthRequest())
        [component] = [each for each in health.components if each.name == "lamb"]
        assert component.ready
        small_lamb(path)
        await sides.until(lambda rows: 3 in rows)
        while (await sides.status()).report.problem:
            await asyncio.sleep(PAUSE)


async def test_a_database_that_no_process_has_open_is_followed_and_gets_no_neighbours(
    database_url: str, tmp_path: Path
) -> None:
    folder = tmp_path / "lamb"
    folder.mkdir()
    lamb = small_lamb(folder / "lamb_v4.db")
    async with (
        open_database(database_url) as database,
        serving(database_url, followed=lamb.path) as service,
    ):
        sides = both_sides(lamb, database, service)
        await sides.until(lambda rows: 3 in rows)
        sides.edit("assistants", 3, system_prompt="Edited.")
        await sides.until_column(3, "system_prompt", "Edited.")
    assert [each.name for each in folder.iterdir()] == ["lamb_v4.db"]


async def test_a_database_that_is_replaced_by_another_file_is_followed(both: Followed) -> None:
    path = both.lamb.path
    copy = path.with_name("restored.db")
    with both.lamb.open() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    shutil.copyfile(path, copy)
    restored = Lamb(copy)
    with restored.open() as connection:
        connection.execute("UPDATE LAMB_assistants SET system_prompt = 'Restored.'")
        connection.commit()
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    os.replace(copy, path)  # noqa: PTH105 - of a path in this folder
    await both.until_column(3, "system_prompt", "Restored.")


async def test_an_id_that_heddle_gave_before_is_refused_and_the_others_follow(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    await add_organization(database)
    number = await add_assistant(database, name="heddles")
    lamb = small_lamb(tmp_path / "lamb_v4.db")
    lamb.add("assistants", {**TUTOR, "id": number, "name": "1_same_id"})
    async with following(database_url, lamb) as sides:
        await sides.until(lambda rows: 3 in rows)
        while not (notes := (await sides.status()).notes):
            await asyncio.sleep(PAUSE)
        assert [(each.row_id, each.refusal) for each in notes] == [
            (
                number,
                f"Heddle has another row with the id {number}, which stays as it is.",
            )
        ]
        assert (await sides.stored())[number]["name"] == "heddles"
        sides.edit("assistants", 3, system_prompt="Others follow.")
        await sides.until_column(3, "system_prompt", "Others follow.")


async def test_a_row_that_cannot_be_used_is_named_until_it_is_mended_and_the_others_follow(
    both: Followed,
) -> None:
    odd = json.dumps({"_format_version": 2, "tools": {"type": 3}})
    both.lamb.add("assistants", {**TUTOR, "id": 4, "name": "1_odd", "api_callback": odd})
    both.lamb.add("assistants", {**TUTOR, "id": 5, "name": "long" * 1_000})
    both.lamb.add("assistants", {**TUTOR, "id": 6, "name": "1_fine"})
    await both.until(lambda rows: {4, 6} <= rows.keys())
    while not (notes := (await both.status()).notes):
        await asyncio.sleep(PAUSE)
    assert [each.row_id for each in notes] == [5]
    assert "2,000 bytes" in notes[0].refusal
    both.edit("assistants", 5, name="1_short")
    await both.until_column(5, "name", "1_short")
    while (await both.status()).notes:
        await asyncio.sleep(PAUSE)


async def test_an_assistant_whose_organisation_is_gone_belongs_to_that_of_unassigned_rows(
    both: Followed,
) -> None:
    both.lamb.add("assistants", {**TUTOR, "id": 4, "name": "1_b", "organization_id": 99})
    await both.until(lambda rows: 4 in rows)
    assert (await both.assistant(4)).organization == UNASSIGNED
    both.edit("assistants", 4, organization_id=1)
    await both.until(lambda rows: rows[4]["organization_id"] == rows[3]["organization_id"])


async def test_a_rollback_restores_what_lamb_has_now(both: Followed) -> None:
    await both.assistant(3)
    text = json.dumps({**METADATA, "llm": "gpt-5"}, indent=1)
    both.edit("assistants", 3, api_callback=text)
    await both.until(lambda rows: "gpt-5" in rows[3]["metadata"])
    await both.admin.roll_back()
    assert (await both.stored())[3]["metadata"] == text


async def test_a_rollback_refuses_an_assistant_that_was_edited_in_heddle_and_then_in_lamb(
    both: Followed,
) -> None:
    await both.assistant(3)
    await both.add_tool(3)
    both.edit("assistants", 3, api_callback=json.dumps({**METADATA, "llm": "gpt-5"}))
    await both.until(lambda rows: "gpt-5" in rows[3]["metadata"])
    reports = await both.admin.roll_back()
    assert reports[-1].progress.refused == 1
    assert "calculator" in (await both.stored())[3]["metadata"]


async def test_imported_rows_are_followed_from_what_the_import_brought(
    database_url: str, tmp_path: Path
) -> None:
    lamb = small_lamb(tmp_path / "lamb_v4.db")
    async with following(database_url, lamb) as sides:
        await sides.until(lambda rows: 3 in rows)
        await sides.change(3, description="Heddle's")
        async with sides.database.writing() as connection:  # as after an import without following
            await connection.exec_driver_sql("DELETE FROM followed_rows")
    lamb.add("assistants", {**TUTOR, "id": 4, "name": "1_other"})
    with lamb.open() as connection:
        connection.execute("UPDATE LAMB_assistants SET system_prompt = 'LAMB''s' WHERE id = 3")
        connection.commit()
    async with following(database_url, lamb) as sides:
        await sides.until_column(3, "system_prompt", "LAMB's")
        row = (await sides.stored())[3]
        assert row["description"] == "Heddle's"
        newest = (await sides.versions(3))[0]
        assert (newest.action, newest.note) == ("follow", "")


@pytest.mark.exhaustive
async def test_a_comparison_of_many_rows_takes_several_steps_and_ends(tmp_path: Path) -> None:
    lamb = small_lamb(tmp_path / "lamb_v4.db")
    count = 2 * MAX_CHANGED
    lamb.add("assistants", *({**TUTOR, "id": 10 + n, "name": f"1_n{n}"} for n in range(count)))
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    known = {source: Known() for source in SOURCES}
    sizes = []
    for _ in range(4):
        comparison = await compare(lamb.path, None, known)
        for batch in comparison.batches:
            for changed, _message in batch.rows:
                known[batch.source].accept(changed)
        sizes.append((sum(len(each.rows) for each in comparison.batches), comparison.is_complete))
    gc.collect()
    await asyncio.sleep(0)
    assert sum(size for size, _ in sizes) == count + 4
    assert [is_complete for _, is_complete in sizes] == [False, False, True, True]
    assert failures == []


def test_a_write_of_the_same_size_changes_the_state_or_it_is_not_settled(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    first = file_state(path)
    path.write_bytes(b"two")
    second = file_state(path)
    assert not second.is_as(first)
    assert not file_state(path).is_as(second)
    os.utime(path, (1, 1))
    old = file_state(path)
    assert file_state(path).is_as(old)


@pytest.mark.parametrize(
    ("path", "is_elsewhere"),
    [("/mnt/nfs/lamb.db", True), ("/mnt/nfs/local/lamb.db", False), ("/srv/lamb.db", False)],
)
def test_a_file_is_on_the_file_system_of_the_deepest_mount(
    tmp_path: Path, path: str, *, is_elsewhere: bool
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "40 22 0:50 / /mnt/nfs rw,relatime - nfs4 server:/x rw\n"
        "41 40 8:2 / /mnt/nfs/local rw,relatime - xfs /dev/sdb1 rw\n"
    )
    assert is_remote(Path(path), mounts) == is_elsewhere
