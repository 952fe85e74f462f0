"""Several replicas on one database."""

import json

import pytest
from assistants.database.processes import outputs, ready
from assistants.database.rows import add_assistant
from assistants.database.traffic import ROWS
from heddle_assistants.database.schema import assistants
from heddle_runtime.storage.database.engine import Database
from runtime.examples import mostly_on, repetitions
from sqlalchemy import func, select, update

WRITERS = 10
WRITES = repetitions(15)
"""Of each writer."""


@pytest.mark.exhaustive
@mostly_on("dialect", "sqlite", "postgresql")
async def test_two_replicas_lose_no_write_and_never_find_it_locked(
    filled: Database, database_url: str
) -> None:
    for number in range(2, ROWS + 1):
        await add_assistant(filled, name=str(number))
    async with filled.writing() as connection:
        await connection.execute(update(assistants).values(title="r1"))
    replicas = [await ready("traffic.py", database_url, 50, WRITERS, WRITES) for _ in range(2)]
    happened = [json.loads(printed) for printed in await outputs(replicas)]
    async with filled.reading() as connection:
        revisions = await connection.scalar(select(func.sum(assistants.c.revision)))
    assert [replica["written"] for replica in happened] == [WRITERS * WRITES] * 2
    assert revisions == ROWS + 2 * WRITERS * WRITES
