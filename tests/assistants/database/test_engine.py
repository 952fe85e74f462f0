"""Reading and writing, alike on both databases."""

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest
from assistants.database.rows import add_assistant
from heddle_assistants.database.schema import SCHEMA, assistants, organizations
from heddle_runtime.storage.database.engine import Database, open_database
from heddle_runtime.storage.database.upgrading import upgrade
from sqlalchemy import bindparam, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

COUNT = select(func.count()).select_from(assistants)
ORGANIZATION = {"slug": "uni", "name": "Uni", "created_at": 1, "updated_at": 1}
BY_ID = select(assistants).where(assistants.c.id == bindparam("id"))


def retitle(title: str) -> Any:
    return update(assistants).where(assistants.c.id == 1).values(title=title)


async def title(connection: AsyncConnection) -> str | None:
    return await connection.scalar(select(assistants.c.title).where(assistants.c.id == 1))


async def test_what_was_written_is_read(filled: Database) -> None:
    async with filled.writing() as connection:
        await connection.execute(retitle("new"))
    async with filled.reading() as connection:
        assert await title(connection) == "new"


async def test_what_was_written_is_there_when_it_is_opened_again(empty_database_url: str) -> None:
    for expected in (0, 1):
        async with open_database(empty_database_url) as database:
            await upgrade(database, SCHEMA)
            async with database.writing() as connection:
                count = await connection.scalar(select(func.count()).select_from(organizations))
                assert count == expected
                if not count:
                    await connection.execute(insert(organizations).values(ORGANIZATION))


async def test_a_block_that_fails_takes_everything_back(filled: Database) -> None:
    with pytest.raises(KeyError):
        async with filled.writing() as connection:
            await connection.execute(retitle("half"))
            raise KeyError
    async with filled.reading() as connection:
        assert await title(connection) == ""


async def test_a_reader_sees_one_state_whatever_is_written_meanwhile(filled: Database) -> None:
    async with filled.reading() as reader:
        assert await title(reader) == ""
        async with filled.writing() as writer:
            await writer.execute(retitle("new"))
        assert await title(reader) == ""
    async with filled.reading() as reader:
        assert await title(reader) == "new"


async def test_a_reader_cannot_write(filled: Database) -> None:
    with pytest.raises(DBAPIError, match=r"read.?only"):
        async with filled.reading() as connection:
            await connection.execute(retitle("new"))
    async with filled.reading() as connection:
        assert await title(connection) == ""


async def test_a_row_read_cheaply_is_the_row_that_sqlalchemy_reads(filled: Database) -> None:
    await add_assistant(filled, name="b", published=True, rag_top_k="3", metadata="{}")
    read = filled.row_reader(BY_ID)
    async with filled.reading() as connection:
        for identifier in (1, 2):
            row = (await connection.execute(BY_ID, {"id": identifier})).one()
            assert await read(identifier) == tuple(row)
    assert await read(3) is None


async def test_a_row_read_cheaply_is_never_an_old_one(filled: Database) -> None:
    read = filled.row_reader(select(assistants.c.title).where(assistants.c.id == bindparam("id")))
    for number in range(20):
        async with filled.writing() as connection:
            await connection.execute(retitle(str(number)))
        assert await read(1) == (str(number),)


async def test_a_table_changed_under_a_prepared_read_does_not_break_it(filled: Database) -> None:
    read = filled.row_reader(BY_ID)
    before = await read(1)
    async with filled.writing() as connection:
        await connection.execute(text("ALTER TABLE assistants ADD COLUMN later INTEGER"))
    assert await read(1) == before


async def test_calls_that_were_cut_off_leave_the_database_usable(filled: Database) -> None:
    read = filled.row_reader(BY_ID)

    async def write(number: int) -> None:
        async with filled.writing() as connection:
            await connection.execute(retitle(str(number)))
            await connection.execute(retitle(str(-number)))

    async def look(_: int) -> None:
        async with filled.reading() as connection:
            await title(connection)
        await read(1)

    for number in range(1, 60):
        call = asyncio.create_task([write, look][number % 2](number))
        await asyncio.sleep(number / 10_000)
        call.cancel()
        await asyncio.wait([call])
    await asyncio.gather(*(write(number) for number in range(100, 120)), *map(look, range(40)))
    row = await read(1)
    assert row
    assert row[3].startswith("-")


async def test_more_writers_than_connections_take_turns(filled: Database) -> None:
    async def increment() -> None:
        async with filled.writing() as connection:
            await connection.execute(update(assistants).values(revision=assistants.c.revision + 1))

    await asyncio.gather(*(increment() for _ in range(100)))
    async with filled.reading() as connection:
        assert await connection.scalar(select(assistants.c.revision)) == 101


async def test_the_file_is_its_owners_and_acknowledged_writes_are_synced(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "heddle.db"
    async with open_database(f"sqlite:///{path}") as database:
        async with database.writing() as connection:
            synchronous = await connection.scalar(text("PRAGMA synchronous"))
            journal = await connection.scalar(text("PRAGMA journal_mode"))
            await connection.execute(text("CREATE TABLE t (x)"))
        assert (synchronous, journal) == (2, "wal")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {"heddle.db": 0o600, "heddle.db-wal": 0o600, "heddle.db-shm": 0o600}
