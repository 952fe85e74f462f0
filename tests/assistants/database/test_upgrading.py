"""How the tables come to be: from nothing, by several at once, and never over another's."""

from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from assistants.database.processes import outputs, ready
from assistants.database.rows import add_organization
from heddle_assistants.database.engine import Database, open_database
from heddle_assistants.database.failures import UnusableDatabaseError
from heddle_assistants.database.schema import metadata
from heddle_assistants.database.upgrading import upgrade
from runtime.examples import mostly_on
from sqlalchemy import Connection, inspect, text


def structure(connection: Connection) -> dict[str, Any]:
    """Return all that the database itself says about its tables."""
    inspector = inspect(connection)
    found: dict[str, Any] = {
        "columns": inspector.get_multi_columns(),
        "keys": inspector.get_multi_pk_constraint(),
        "references": inspector.get_multi_foreign_keys(),
        "unique": inspector.get_multi_unique_constraints(),
        "checks": inspector.get_multi_check_constraints(),
        "indexes": inspector.get_multi_indexes(),
        "options": inspector.get_multi_table_options(),
    }
    return {
        aspect: {
            table: _ordered(value)
            for (_, table), value in tables.items()
            if table != "alembic_version"
        }
        for aspect, tables in found.items()
    }


def _ordered(value: object) -> object:
    return sorted(map(repr, value)) if isinstance(value, list) else repr(value)


async def test_an_empty_database_gets_every_table(empty_database_url: str) -> None:
    async with open_database(empty_database_url) as database:
        await upgrade(database)
        async with database.reading() as connection:
            tables = await connection.run_sync(lambda c: inspect(c).get_table_names())
    assert set(tables) == {*metadata.tables, "alembic_version"}


async def test_an_upgrade_of_what_is_up_to_date_changes_nothing(database: Database) -> None:
    await add_organization(database)
    await upgrade(database)
    async with database.reading() as connection:
        assert await connection.scalar(text("SELECT slug FROM organizations")) == "uni"


async def test_the_revisions_make_the_tables_of_the_schema(database: Database) -> None:
    def differences(connection: Connection) -> list[Any]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    async with database.reading() as connection:
        assert await connection.run_sync(differences) == []


async def test_no_detail_differs_from_tables_made_directly(database: Database) -> None:
    # Alembic's comparison leaves out checks, identities, defaults, and the names of keys.
    async with database.writing() as connection:
        by_revisions = await connection.run_sync(structure)
        await connection.run_sync(metadata.drop_all)
        await connection.run_sync(metadata.create_all)
        assert by_revisions == await connection.run_sync(structure)


@mostly_on("dialect", "postgresql", "sqlite")
async def test_processes_that_start_at_once_upgrade_once(empty_database_url: str) -> None:
    await outputs([await ready("upgrade_once.py", empty_database_url) for _ in range(3)])
    async with open_database(empty_database_url) as database, database.reading() as connection:
        revisions = await connection.execute(text("SELECT version_num FROM alembic_version"))
        assert revisions.scalars().all() == ["0001"]


async def test_a_database_of_a_newer_heddle_is_refused(database: Database) -> None:
    async with database.writing() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9000'"))
    with pytest.raises(UnusableDatabaseError, match="newer Heddle: it is at revision '9000'"):
        await upgrade(database)


async def test_tables_of_another_program_are_left_alone(empty_database_url: str) -> None:
    async with open_database(empty_database_url) as database:
        async with database.writing() as connection:
            await connection.execute(text("CREATE TABLE users (secret TEXT)"))
        with pytest.raises(UnusableDatabaseError, match="table 'users' that Heddle did not make"):
            await upgrade(database)
