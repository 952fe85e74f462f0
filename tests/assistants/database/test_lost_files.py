"""Files of the SQLite database that disappear while the service uses them."""

import os
import shutil
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest
from assistants.database.rows import add_organization
from heddle_assistants.database.schema import SCHEMA, organizations
from heddle_runtime.errors import HeddleError, StorageError
from heddle_runtime.storage.database.engine import Database, open_database
from heddle_runtime.storage.database.upgrading import upgrade
from heddle_runtime.storage.stored_files import StoredFiles
from sqlalchemy import select, update


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncGenerator[Database]:
    async with open_database(f"sqlite:///{tmp_path}/heddle.db") as database:
        await upgrade(database, SCHEMA)
        await add_organization(database)
        yield database


async def rename(database: Database) -> None:
    async with database.writing() as connection:
        await connection.execute(update(organizations).values(name="new"))


def remove(file: Path) -> None:
    file.unlink()


def replace(file: Path) -> None:
    copy = file.with_name("copy")
    shutil.copyfile(file, copy)
    copy.replace(file)


@pytest.mark.parametrize("change", [remove, replace])
@pytest.mark.parametrize("name", ["heddle.db", "heddle.db-wal"])
async def test_a_write_to_a_file_that_is_gone_is_not_acknowledged(
    opened: Database, tmp_path: Path, name: str, change: Callable[[Path], None]
) -> None:
    await rename(opened)
    change(tmp_path / name)

    for _ in range(2):
        with pytest.raises(StorageError) as caught:
            await rename(opened)
        assert str(tmp_path) not in caught.value.message
        assert str(tmp_path / name) in caught.value.diagnosis


async def test_a_file_that_disappears_during_a_write_loses_no_acknowledged_write(
    opened: Database, tmp_path: Path
) -> None:
    with pytest.raises(StorageError):
        async with opened.writing() as connection:
            await connection.execute(update(organizations).values(name="new"))
            (tmp_path / "heddle.db").unlink()


async def test_a_file_that_is_put_back_is_used_again(opened: Database, tmp_path: Path) -> None:
    file = tmp_path / "heddle.db"
    file.rename(tmp_path / "moved")
    with pytest.raises(StorageError):
        await rename(opened)
    async with AsyncExitStack() as readers:  # more than are open, so that some connect anew
        for _ in range(5):
            with suppress(HeddleError):
                _ = await readers.enter_async_context(opened.reading())
    assert not file.exists()
    (tmp_path / "moved").rename(file)

    await rename(opened)
    async with AsyncExitStack() as readers:
        for _ in range(5):
            connection = await readers.enter_async_context(opened.reading())
            assert await connection.scalar(select(organizations.c.name)) == "new"


@pytest.mark.alone
def test_a_check_costs_little(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).touch()
    files = StoredFiles(tmp_path / "a", tmp_path / "b")
    started = time.perf_counter()
    for _ in range(10_000):
        files.check()
    seconds = (time.perf_counter() - started) / 10_000

    assert seconds < 0.0001, f"{seconds * 1e6:.1f} µs, on {os.cpu_count()} processors"
