"""Connections to the tables of pages."""

import asyncio
from contextlib import aclosing

import asyncpg
import pytest
from heddle_knowledge.engines.postgres import SCHEMA
from heddle_knowledge.pages.page_connections import PageTables
from heddle_knowledge.pages.page_tables import TABLES
from heddle_runtime.errors import StorageError

OPENED = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND application_name = $1"
)


async def test_a_failed_set_up_leaves_no_connection(database: str) -> None:
    async with aclosing(PageTables(database, tables="CREATE TABLE")) as broken:
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


async def test_a_replica_starts_beside_a_transaction_that_has_not_ended(database: str) -> None:
    async with (
        aclosing(PageTables(database, TABLES)) as running,
        aclosing(PageTables(database, TABLES)) as starting,
        running.transaction() as connection,
    ):
        for table in ("paged_documents", "pages", "page_words"):
            await connection.execute(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE")
        async with asyncio.timeout(10):
            assert await starting.fetch("SELECT 1")


async def test_a_newer_version_gets_the_tables_that_it_adds(database: str) -> None:
    async with aclosing(PageTables(database, "CREATE TABLE earlier (id bigint)")) as earlier:
        await earlier.fetch("SELECT 1")
    async with aclosing(PageTables(database, TABLES)) as later:
        assert await later.fetch("SELECT count(*) FROM pages")
