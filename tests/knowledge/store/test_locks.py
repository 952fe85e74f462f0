"""Locks of files: one holder at a time, whatever becomes of the file."""

import asyncio
import shutil
from pathlib import Path

from heddle_knowledge.files.locks import exclusive, exclusive_if_free


async def test_one_holds_a_lock_at_a_time_also_if_each_removes_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    holders = most = entered = 0

    async def hold() -> None:
        nonlocal holders, most, entered
        for _ in range(20):
            async with exclusive(path):
                holders += 1
                entered += 1
                most = max(most, holders)
                await asyncio.sleep(0.001)
                holders -= 1
                path.unlink()

    await asyncio.gather(*(hold() for _ in range(8)))
    assert (entered, most) == (160, 1)


async def test_a_lock_is_free_or_not(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    async with exclusive_if_free(path) as mine, exclusive_if_free(path) as others:
        assert (mine, others) == (True, False)
    async with exclusive_if_free(path) as again:
        assert again


async def test_who_waits_for_a_lock_of_a_folder_that_is_removed_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    went_on = asyncio.Event()

    async def wait() -> None:
        async with exclusive(folder / "a.lock"):
            went_on.set()

    async with exclusive(folder / "a.lock"):
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0.02)
        assert not went_on.is_set()
        shutil.rmtree(folder)
    await asyncio.wait_for(waiting, 5)
    assert went_on.is_set()
