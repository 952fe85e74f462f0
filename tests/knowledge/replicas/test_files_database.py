"""Connections to the tables of the knowledge service."""

import asyncio
from contextlib import aclosing
from pathlib import Path

from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.schema import pages
from sqlalchemy import select, text


async def test_a_replica_starts_beside_a_transaction_that_has_not_ended(database: str) -> None:
    async with (
        aclosing(KnowledgeDatabase(database, Path())) as running,
        aclosing(KnowledgeDatabase(database, Path())) as starting,
        running.writing() as connection,
    ):
        for table in ("paged_documents", "pages"):
            await connection.execute(text(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE"))
        async with asyncio.timeout(10):
            assert await starting.rows(select(pages.c.id)) == []
