"""Both databases, a fresh one for each test."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from heddle_migration_service.database.engine import Database, open_database
from heddle_migration_service.database.upgrading import upgrade
from migration.postgres import Postgres, postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """The server of all tests that leave it running."""
    with postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/heddle.db"
        return
    server: Postgres = request.getfixturevalue("postgres_server")
    with server.database() as url:
        yield url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """An open database with its tables."""
    async with open_database(database_url) as opened:
        await upgrade(opened)
        yield opened
