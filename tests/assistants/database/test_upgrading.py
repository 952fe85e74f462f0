"""How the tables come to be: from nothing, by several at once, and never over another's."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from assistants.database.processes import outputs, ready
from assistants.database.rows import add_organization
from heddle_assistants.database.schema import SCHEMA, metadata
from heddle_runtime.storage.database import upgrading
from heddle_runtime.storage.database.engine import Database, open_database
from heddle_runtime.storage.database.failures import UnusableDatabaseError
from heddle_runtime.storage.database.schema import Schema
from heddle_runtime.storage.database.upgrading import current_revision, downgrade, upgrade
from runtime.examples import mostly_on
from sqlalchemy import Connection, inspect, text

NOW = upgrading.newest_revision(SCHEMA)
FIRST = "0007"
NEXT = f"{int(NOW) + 1:04}"
LATER = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{NOW}"
oldest_compatible = "{NOW}"


def upgrade():
    op.add_column("organizations", sa.Column("colour", sa.Text, server_default="red"))
"""
DOWNGRADE = """

def downgrade():
    op.drop_column("organizations", "colour")
"""


async def test_an_empty_database_gets_every_table(empty_database_url: str) -> None:
    async with open_database(empty_database_url) as database:
        await upgrade(database, SCHEMA)
        async with database.reading() as connection:
            tables = await connection.run_sync(lambda c: inspect(c).get_table_names())
    assert set(tables) == {*metadata.tables, "alembic_version"}


async def test_an_upgrade_of_what_is_up_to_date_changes_nothing(database: Database) -> None:
    await add_organization(database)
    await upgrade(database, SCHEMA)
    async with database.reading() as connection:
        assert await connection.scalar(text("SELECT slug FROM organizations")) == "uni"


async def test_the_tables_are_those_of_the_schema(database: Database) -> None:
    def differences(connection: Connection) -> list[Any]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    async with database.reading() as connection:
        assert await connection.run_sync(differences) == []


@pytest.mark.exhaustive
@mostly_on("dialect", "postgresql", "sqlite")
async def test_processes_that_start_at_once_upgrade_once(empty_database_url: str) -> None:
    await outputs([await ready("upgrade_once.py", empty_database_url) for _ in range(2)])
    async with open_database(empty_database_url) as database, database.reading() as connection:
        revisions = await connection.execute(text("SELECT version_num FROM alembic_version"))
        assert revisions.scalars().all() == [NOW]


@pytest.fixture
def later(tmp_path: Path) -> Callable[[str], Schema]:
    """Returns the tables with a later revision than those of this version."""
    revisions = Path(shutil.copytree(SCHEMA.revisions, tmp_path / "revisions"))

    def add(downgrade_function: str = "") -> Schema:
        (revisions / f"r{NEXT}_later.py").write_text(LATER + downgrade_function)
        return replace(SCHEMA, revisions=revisions)

    return add


async def test_a_later_revision_changes_the_tables_of_an_earlier_release(
    database: Database, later: Callable[[str], Schema]
) -> None:
    await add_organization(database)
    schema = later("")
    await upgrade(database, schema)
    async with database.reading() as connection:
        query = text("SELECT slug, colour FROM organizations")
        assert (await connection.execute(query)).one() == ("uni", "red")
        assert await connection.scalar(text("SELECT version_num FROM alembic_version")) == NEXT


async def test_a_database_from_before_the_first_release_is_refused(database: Database) -> None:
    async with database.writing() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '0006'"))
        await connection.execute(text("UPDATE schema_compatibility SET oldest_revision = '0001'"))
    message = f"is at revision '0006', and this one needs '{FIRST}'. Start a Heddle that knows both"
    with pytest.raises(UnusableDatabaseError, match=message):
        await upgrade(database, SCHEMA)
    assert await current_revision(database) == "0006"


async def test_a_database_of_a_newer_heddle_is_refused(database: Database) -> None:
    async with database.writing() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9000'"))
        await connection.execute(text("UPDATE schema_compatibility SET oldest_revision = '9000'"))
    with pytest.raises(UnusableDatabaseError, match="newer Heddle: it is at revision '9000'"):
        await upgrade(database, SCHEMA)


async def test_tables_of_another_program_are_left_alone(empty_database_url: str) -> None:
    async with open_database(empty_database_url) as database:
        async with database.writing() as connection:
            await connection.execute(text("CREATE TABLE users (secret TEXT)"))
        with pytest.raises(UnusableDatabaseError, match="table 'users' that Heddle did not make"):
            await upgrade(database, SCHEMA)


async def test_a_newer_database_that_works_with_this_version_is_served(database: Database) -> None:
    async with database.writing() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9000'"))
        oldest = f"UPDATE schema_compatibility SET oldest_revision = '{NOW}'"  # noqa: S608
        await connection.execute(text(oldest))
    await upgrade(database, SCHEMA)
    assert await current_revision(database) == "9000"


async def test_a_revision_is_taken_back_and_comes_again(
    database: Database, later: Callable[[str], Schema]
) -> None:
    await add_organization(database)
    schema = later(DOWNGRADE)
    await upgrade(database, schema)
    await downgrade(database, schema, NOW)
    assert await current_revision(database) == NOW
    await upgrade(database, schema)
    async with database.reading() as connection:
        assert await connection.scalar(text("SELECT slug FROM organizations")) == "uni"
        oldest = await connection.scalar(text("SELECT oldest_revision FROM schema_compatibility"))
    assert oldest == NOW


async def test_a_revision_that_would_lose_data_is_not_taken_back(
    database: Database, later: Callable[[str], Schema]
) -> None:
    schema = later("")
    await upgrade(database, schema)
    message = f"Revision '{NEXT}' .*restore the backup from before the upgrade"
    with pytest.raises(UnusableDatabaseError, match=message):
        await downgrade(database, schema, NOW)
    assert await current_revision(database) == NEXT
    with pytest.raises(UnusableDatabaseError, match="no earlier revision '9000'"):
        await downgrade(database, schema, "9000")


def test_a_revision_says_which_version_works_with_it_and_only_adds() -> None:
    for path in sorted(SCHEMA.revisions.glob("r*.py")):
        upgrading_part = path.read_text().partition("def downgrade")[0]
        operations = set(re.findall(r"op\.(\w+)", upgrading_part))
        adds_only = operations <= {"add_column", "create_index", "create_table"}
        number = path.name[1:5]
        if number > FIRST:
            assert "oldest_compatible" in upgrading_part, path.name
            assert adds_only or f'oldest_compatible = "{number}"' in upgrading_part, path.name
