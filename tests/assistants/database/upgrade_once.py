"""Starts as a replica does, after it said "ready" and got a line: opens and upgrades.

Usage: python upgrade_once.py URL
"""

import asyncio
import sys

from heddle_assistants.database.schema import SCHEMA
from heddle_runtime.storage.database.engine import open_database
from heddle_runtime.storage.database.upgrading import upgrade


async def main(url: str) -> None:
    """Open and upgrade."""
    print("ready", flush=True)  # noqa: T201 (the parent reads it)
    await asyncio.to_thread(sys.stdin.readline)
    async with open_database(url) as database:
        await upgrade(database, SCHEMA)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
