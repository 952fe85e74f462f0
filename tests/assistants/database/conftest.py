"""What the tests of the database share."""

import pytest
from assistants.database.rows import add_assistant, add_organization
from heddle_runtime.storage.database.engine import Database


@pytest.fixture
async def filled(database: Database) -> Database:
    """A database with one organization and one assistant."""
    await add_organization(database)
    await add_assistant(database)
    return database
