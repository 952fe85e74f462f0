"""Taking turns, and waiting for the lock of an SQLite file."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from heddle_runtime.errors import UnavailableError
from heddle_runtime.storage.database.semaphore import FairSemaphore
from heddle_runtime.storage.database.sqlite import open_sqlite
from sqlalchemy import text


async def test_turns_go_by_the_order_of_coming() -> None:
    semaphore = FairSemaphore(2, 5)
    came: list[int] = []

    async def take(number: int) -> None:
        for _ in range(3):  # whoever was there and comes again stands behind those who wait
            async with semaphore:
                came.append(number)
                await asyncio.sleep(0)

    await asyncio.gather(*map(take, range(7)))
    assert came == [*range(7)] * 3


async def test_who_waits_too_long_for_a_turn_is_told_to_try_again() -> None:
    semaphore = FairSemaphore(1, 0.01)
    async with semaphore:
        with pytest.raises(UnavailableError, match="busy") as caught:
            async with semaphore:
                pass
    assert caught.value.retry_after
    async with semaphore:  # and what was not given is not missing
        pass


async def test_a_writer_waits_for_another_process_and_not_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "heddle.db"
    async with open_sqlite(path, patience=0.2) as database:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError, match="busy"):
            async with database.writing():
                pass
        async with database.reading() as connection:  # which waits for no writer
            await connection.execute(text("SELECT 1"))
        asyncio.get_running_loop().call_later(0.05, other.rollback)
        async with database.writing() as connection:
            await connection.execute(text("CREATE TABLE t (x)"))
        other.close()
