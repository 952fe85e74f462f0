"""Connections to the database of uploaded files."""

import asyncio
from contextlib import aclosing

import asyncpg
import pytest
from heddle_knowledge.engines.postgres import SCHEMA
from heddle_knowledge.uploads.files_database import FilesDatabase
from heddle_runtime.errors import StorageError

OPENED = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND application_name = $1"
)


async def test_a_failed_set_up_leaves_no_connection(database: str) -> None:
    async with aclosing(FilesDatabase(database, tables="CREATE TABLE")) as broken:
        for _ in range(3):
            with pytest.raises(StorageError):
                await broken.fetch("SELECT 1")
    connection = await asyncpg.connect(database)
    try:
        async with asyncio.timeout(10):
            while await connection.fetchval(OPENED, SCHEMA):
                await asyncio.sleep(0.02)
    finally:
        await connection.close()
