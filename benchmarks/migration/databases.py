"""Fresh databases, and what is in them."""

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from heddle_assistants.database.schema import SCHEMA, assistants, organizations
from heddle_runtime.storage.database.engine import open_database
from heddle_runtime.storage.database.upgrading import upgrade
from sqlalchemy import insert, select

from benchmarks.gateway.processes import REPOSITORY, environment

SQLITE, POSTGRESQL = "sqlite", "postgresql"
NAMES = (SQLITE, POSTGRESQL)
_BATCH = 1000


@contextmanager
def fresh(name: str, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty database."""
    if name == SQLITE:
        yield f"sqlite:///{folder}/heddle.db"
        return
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.migration.postgresql"],
        cwd=REPOSITORY,
        env=environment() | {"PYTHONPATH": os.pathsep.join((str(REPOSITORY / "tests"), "."))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a Ctrl-C reaches only the benchmark, which then ends this
    )
    try:
        if process.stdout is None or not (url := process.stdout.readline().strip()):
            raise RuntimeError("PostgreSQL does not start. It said why above.")
        yield url
    finally:
        process.communicate("")  # the end of its input


def fill(url: str, rows: Iterable[dict[str, Any]]) -> None:
    """Make the tables and insert rows of `assistants`."""
    asyncio.run(_fill(url, iter(rows)))


async def _fill(url: str, rows: Iterator[dict[str, Any]]) -> None:
    async with open_database(url) as database:
        await upgrade(database, SCHEMA)
        async with database.writing() as connection:
            values = {"slug": "uni", "name": "Uni", "created_at": 1, "updated_at": 1}
            await connection.execute(insert(organizations).values(id=1, **values))
        while batch := list(islice(rows, _BATCH)):
            async with database.writing() as connection:
                await connection.execute(insert(assistants), batch)


def fingerprint(url: str) -> str:
    """Return a digest of all documents, byte for byte."""
    return asyncio.run(_fingerprint(url))


async def _fingerprint(url: str) -> str:
    digest = hashlib.sha256()
    query = select(assistants.c.id, assistants.c.metadata).order_by(assistants.c.id).limit(_BATCH)
    last = 0
    async with open_database(url) as database, database.reading() as connection:
        while batch := (await connection.execute(query.where(assistants.c.id > last))).all():
            last = batch[-1].id
            for row in batch:
                digest.update(repr(tuple(row)).encode())
    return digest.hexdigest()
