"""Gives all assistants ever higher revisions, one transaction each, until somebody kills it.

Prints "half N" in the middle of a transaction and "whole N" after it is acknowledged.

Usage: python write_until_killed.py URL
"""

import asyncio
import sys
from itertools import count

from heddle_assistants.database.schema import assistants
from heddle_runtime.storage.database.engine import open_database
from sqlalchemy import func, select, update


async def main(url: str) -> None:
    """Write, without end."""
    async with open_database(url) as database:
        async with database.reading() as connection:
            first = await connection.scalar(select(func.max(assistants.c.revision))) or 0
        print("ready", flush=True)  # noqa: T201 (the parent reads it)
        for revision in count(first + 1):
            async with database.writing() as connection:
                for odd in (0, 1):
                    rows = update(assistants).where(assistants.c.id % 2 == odd)
                    await connection.execute(rows.values(revision=revision, metadata="x" * 5_000))
                    print(f"half {revision}", flush=True)  # noqa: T201 (the parent reads it)
            print(f"whole {revision}", flush=True)  # noqa: T201 (the parent reads it)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
