"""Databases with the tables of the assistants service: a copy takes a tenth of making them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from heddle_assistants.database.schema import SCHEMA
from heddle_runtime.storage.database.engine import open_database
from heddle_runtime.storage.database.upgrading import upgrade
from memory import memory


def database_in(folder: Path) -> str:
    """Return the URL of the database in a folder, which is made if it is missing."""
    path = folder / "heddle.db"
    if not path.exists():
        path.touch(0o600)
        path.write_bytes(_template())
    return f"sqlite:///{path}"


async def make_tables(url: str) -> None:
    """Make the tables as a service does that starts."""
    async with open_database(url) as database:
        await upgrade(database, SCHEMA)


@cache
def _template() -> bytes:
    with TemporaryDirectory(dir=memory()) as folder, ThreadPoolExecutor(1) as thread:
        path = Path(folder, "heddle.db")
        thread.submit(asyncio.run, make_tables(f"sqlite:///{path}")).result()
        return path.read_bytes()
