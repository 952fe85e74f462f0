"""Both databases, a fresh one for each test, and the services over them."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from assistants.postgres import Postgres, postgres
from assistants.serving import Service, serving
from heddle_runtime.storage.database.engine import Database, open_database
from new_databases import database_in, make_tables


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """The server of all tests that leave it running."""
    with postgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_template(postgres_server: Postgres) -> Iterator[str]:
    """The name of a database with its tables, to be copied."""
    with postgres_server.database() as url:
        asyncio.run(make_tables(url))
        yield postgres_server.name(url)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with its tables, to be copied."""
    return Path(database_in(tmp_path_factory.mktemp("template")).removeprefix("sqlite:///"))


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    """Which of the two databases a test uses."""
    return str(request.param)


@pytest.fixture
def empty_database_url(
    dialect: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[str]:
    """The URL of a database without tables."""
    if dialect == "sqlite":
        yield f"sqlite:///{tmp_path}/heddle.db"
        return
    server: Postgres = request.getfixturevalue("postgres_server")
    with server.database() as url:
        yield url


@pytest.fixture
def database_url(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database with its tables, which have no rows."""
    if dialect == "sqlite":
        path = tmp_path / "heddle.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    server: Postgres = request.getfixturevalue("postgres_server")
    with server.database(request.getfixturevalue("postgres_template")) as url:
        yield url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """An open database with its tables."""
    async with open_database(database_url) as opened:
        yield opened


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[Service]:
    """The services over an empty database."""
    async with serving(database_url) as running:
        yield running


@pytest.fixture
async def embedded(sqlite_template: Path, tmp_path: Path) -> AsyncIterator[Service]:
    """The services for tests that do not depend on the database."""
    shutil.copyfile(sqlite_template, tmp_path / "embedded.db")
    async with serving(f"sqlite:///{tmp_path}/embedded.db") as running:
        yield running
