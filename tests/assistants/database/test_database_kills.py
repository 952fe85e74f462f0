"""Kill -9 of a writer: every transaction is there as a whole or not at all."""

import asyncio
import random

from assistants.database.processes import ready
from assistants.database.rows import add_assistant
from heddle_assistants.database.schema import assistants
from heddle_runtime.storage.database.engine import Database
from runtime.examples import repetitions
from sqlalchemy import select, update

ROWS = 50


async def killed(database_url: str, seconds: float) -> list[list[str]]:
    """Run the writer and kill it in the middle of a transaction; return what it printed."""
    process = await ready("write_until_killed.py", database_url)
    assert process.stdout
    await asyncio.sleep(seconds)
    printed = b""
    while not printed.endswith(b"half"):
        printed += await process.stdout.read(4)
    process.kill()
    printed += await process.stdout.read()
    await process.wait()
    return [line.split() for line in printed.decode().splitlines(keepends=True) if line[-1] == "\n"]


async def test_a_killed_writer_leaves_old_or_new_and_nothing_acknowledged_is_lost(
    filled: Database, database_url: str
) -> None:
    for number in range(2, ROWS + 1):
        await add_assistant(filled, name=str(number))
    seed = random.randrange(10**6)  # noqa: S311 (a test's dice)
    moments = random.Random(seed)  # noqa: S311 (a test's dice)
    for _ in range(repetitions(4)):
        printed = await killed(database_url, moments.uniform(0, 0.3))
        acknowledged = max([int(revision) for word, revision in printed if word == "whole"] or [0])
        async with filled.reading() as connection:
            found = (await connection.execute(select(assistants.c.revision))).scalars().all()
        assert len(found) == ROWS
        [revision] = set(found)
        assert revision in (acknowledged, acknowledged + 1) or not acknowledged, f"seed {seed}"
        # What the dead one held is free at once.
        async with asyncio.timeout(5), filled.writing() as connection:
            await connection.execute(update(assistants).values(revision=revision + 1))
