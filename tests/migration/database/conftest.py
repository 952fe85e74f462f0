"""What the tests of the database share."""

import pytest
from heddle_migration_service.database.engine import Database
from migration.database.rows import add_assistant, add_organization


@pytest.fixture
async def filled(database: Database) -> Database:
    """A database with one organization and one assistant."""
    await add_organization(database)
    await add_assistant(database)
    return database
