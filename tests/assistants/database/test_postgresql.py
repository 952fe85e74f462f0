"""A server that stops, starts, or is in a conflict."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from assistants.database.rows import add_assistant, add_organization
from assistants.postgres import Postgres, postgres
from heddle_assistants.database.schema import SCHEMA, assistants
from heddle_runtime.errors import UnavailableError
from heddle_runtime.storage.database.engine import Database, open_database
from heddle_runtime.storage.database.upgrading import upgrade
from sqlalchemy import bindparam, select, text, update

ROW = select(assistants.c.title).where(assistants.c.id == bindparam("id"))


@pytest.fixture
async def database(postgres_server: Postgres) -> AsyncIterator[Database]:
    """A database of the server that all tests share."""
    with postgres_server.database() as url:
        async with open_database(url) as opened:
            await upgrade(opened, SCHEMA)
            yield opened


async def all_ways(database: Database) -> list[BaseException | None]:
    """Use the database in every way; return how each ended."""
    read = database.row_reader(ROW)

    async def reading() -> None:
        async with database.reading() as connection:
            await connection.execute(text("SELECT 1"))

    async def writing() -> None:
        async with database.writing() as connection:
            await connection.execute(update(assistants).values(title="x"))

    async def row() -> None:
        assert await read(7) is None

    calls = [way() for way in (reading, writing, row) for _ in range(12)]
    return await asyncio.gather(*calls, return_exceptions=True)


async def test_a_server_that_started_again_is_used_without_a_failure() -> None:
    with postgres() as server, server.database() as url:
        async with open_database(url) as database:
            await upgrade(database, SCHEMA)
            assert set(await all_ways(database)) == {None}
            server.stop()
            outcomes = await all_ways(database)
            assert {type(outcome) for outcome in outcomes} == {UnavailableError}
            assert {str(outcome) for outcome in outcomes} == {
                "The database cannot be reached. Try again later."
            }
            server.start()
            assert set(await all_ways(database)) == {None}
            server.stop()
            server.start()
            await asyncio.sleep(0.1)  # in which the loop hears of the connections that died
            assert set(await all_ways(database)) == {None}


async def test_a_call_cut_off_by_the_server_asks_to_try_again(database: Database) -> None:
    async def killed(sleeping: str) -> None:
        async with database.writing() as connection:
            await asyncio.gather(
                connection.execute(text(f"SELECT pg_sleep(20), '{sleeping}'")), end(sleeping)
            )

    async def end(sleeping: str) -> None:
        query = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE :q"
        ended = 0
        while not ended:
            await asyncio.sleep(0.05)
            async with database.reading() as connection:
                like = {"q": f"SELECT pg_sleep%{sleeping}%"}
                ended = await connection.scalar(text(query), like) or 0

    with pytest.raises(UnavailableError, match="cannot be reached") as caught:
        await killed("nap")
    assert caught.value.retry_after


async def test_a_deadlock_asks_one_of_the_two_to_try_again(database: Database) -> None:
    await add_organization(database)
    for name in "ab":
        await add_assistant(database, name=name)
    met = asyncio.Barrier(2)

    async def change(first: int, second: int) -> None:
        async with database.writing() as connection:
            query = update(assistants).values(title="x")
            await connection.execute(query.where(assistants.c.id == first))
            await met.wait()
            await connection.execute(query.where(assistants.c.id == second))

    outcomes = await asyncio.gather(change(1, 2), change(2, 1), return_exceptions=True)
    [refused] = [outcome for outcome in outcomes if outcome]
    assert isinstance(refused, UnavailableError)
    assert refused.retry_after


async def test_a_lock_that_stays_taken_asks_to_try_again(database: Database) -> None:
    async with database.writing() as holder:
        await holder.execute(text("LOCK TABLE assistants"))
        with pytest.raises(UnavailableError, match="busy"):
            async with database.writing() as connection:
                await connection.execute(text("SET LOCAL lock_timeout = '50ms'"))
                await connection.execute(update(assistants).values(title="x"))
        read = database.row_reader(ROW)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await read(1)
    assert await read(1) is None
