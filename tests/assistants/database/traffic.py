"""One of several replicas under load: readers and writers of the same rows, until all is written.

Prints "ready", waits for a line, and in the end prints what happened as JSON.

Usage: python traffic.py URL READERS WRITERS WRITES
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter

from heddle_assistants.database.schema import assistants
from heddle_runtime.storage.database.engine import Database, open_database
from sqlalchemy import bindparam, select, update

ROWS = 20
PAGE = select(assistants.c.id, assistants.c.revision).order_by(assistants.c.id).limit(100)
ROW = select(assistants.c.revision, assistants.c.title).where(assistants.c.id == bindparam("id"))


async def write(database: Database, happened: Counter[str]) -> None:
    """Add one to the revision of some row, if nobody else did since it was read."""
    read = database.row_reader(ROW)
    while True:
        identifier = random.randint(1, ROWS)  # noqa: S311 (a test's dice)
        row = await read(identifier)
        assert row
        revision = row[0]
        seen = (assistants.c.id == identifier) & (assistants.c.revision == revision)
        changed = {"revision": revision + 1, "title": f"r{revision + 1}"}
        began = time.monotonic()
        async with database.writing() as connection:
            result = await connection.execute(update(assistants).where(seen).values(changed))
        happened["slowest_write"] = max(
            happened["slowest_write"], round((time.monotonic() - began) * 1000)
        )
        happened["written" if result.rowcount else "conflicts"] += 1
        if result.rowcount:
            return


async def read(database: Database, happened: Counter[str], done: asyncio.Event) -> None:
    """Read rows and pages; each row is of one piece, and no revision goes back."""
    read_row = database.row_reader(ROW)
    newest: Counter[int] = Counter()
    while not done.is_set():
        identifier = random.randint(1, ROWS)  # noqa: S311 (a test's dice)
        row = await read_row(identifier)
        assert row
        assert row[1] == f"r{row[0]}"
        async with database.reading() as connection:
            page = (await connection.execute(PAGE)).all()
        for key, revision in [(identifier, row[0]), *page]:
            assert revision >= newest[key]
            newest[key] = revision
        happened["read"] += 1
        await asyncio.sleep(0)


async def main(url: str, readers: int, writers: int, writes: int) -> None:
    """Run the load."""
    happened: Counter[str] = Counter()
    done = asyncio.Event()

    async def writer(database: Database) -> None:
        for _ in range(writes):
            await write(database, happened)

    async with open_database(url) as database, asyncio.TaskGroup() as tasks:
        print("ready", flush=True)  # noqa: T201 (the parent reads it)
        await asyncio.to_thread(sys.stdin.readline)
        for _ in range(readers):
            tasks.create_task(read(database, happened, done))
        await asyncio.gather(*(writer(database) for _ in range(writers)))
        done.set()
    print(json.dumps(happened))  # noqa: T201 (the parent reads it)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
