"""Imports a LAMB database; prints a line after every response.

Usage: python import_until_killed.py URL LAMB
"""

import asyncio
import sys
from pathlib import Path

from heddle_assistants.database.engine import open_database
from heddle_migration_service.lamb import LambImport
from heddle_runtime.egress import Egress


async def main(url: str, path: str) -> None:
    """Import."""
    async with open_database(url) as database:
        print("ready", flush=True)  # noqa: T201 (the parent reads it)
        await asyncio.to_thread(sys.stdin.readline)
        importing = LambImport(Path(path), None, database, lambda _, config: config, Egress())
        async for response in importing.run(dry_run=False):
            print(response.table, response.progress.changed, flush=True)  # noqa: T201 (as above)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
