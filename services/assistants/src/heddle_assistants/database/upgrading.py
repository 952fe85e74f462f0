"""Bringing the tables to this version, before the service serves."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import structlog
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from heddle_runtime.errors import UnavailableError
from sqlalchemy import Connection, func, inspect, select, text

from heddle_assistants.database.engine import Database
from heddle_assistants.database.failures import UnusableDatabaseError
from heddle_assistants.database.schema import metadata

log = structlog.get_logger(__name__)
_REVISIONS = Path(__file__).with_name("revisions")
_PATIENCE = 600.0  # seconds for another replica's upgrade
_LOCK = 0x68656464  # any number that nobody else uses for an advisory lock: "hedd"


async def upgrade(database: Database) -> None:
    """Bring the tables to this version; of several replicas, one does and the others wait.

    An empty database gets the tables of `schema`; an older one is changed by Alembic's revisions.

    Raises:
        UnusableDatabaseError: The database is of a newer version, or another program's.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            async with database.writing() as connection:
                await connection.run_sync(_upgrade, database.name)
        except UnavailableError as error:  # another replica is at it, or the server just starts
            if time.monotonic() > until:
                raise UnusableDatabaseError(f"The database {database.name} stays busy.") from error
            log.warning("database not ready for an upgrade", problem=error.message)
            await asyncio.sleep(1)
        else:
            return


def _upgrade(connection: Connection, name: str) -> None:
    # On SQLite the transaction itself is the lock.
    if connection.dialect.name == "postgresql":
        for setting in ("statement_timeout", "lock_timeout"):
            connection.execute(text(f"SET LOCAL {setting} = 0"))
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    config = _config(connection=connection)
    known = ScriptDirectory.from_config(config)
    heads = MigrationContext.configure(connection).get_current_heads()
    if set(heads) == set(known.get_heads()):
        return
    _refuse_strangers(connection, known, heads, name)
    if heads:
        command.upgrade(config, "head")
    else:
        metadata.create_all(connection)
        command.stamp(config, "head")


def newest_revision() -> str:
    """Return the revision of the tables of this version."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def _config(**attributes: Connection) -> Config:
    config = Config(attributes=attributes)
    config.set_main_option("script_location", str(_REVISIONS).replace("%", "%%"))
    return config


def _refuse_strangers(
    connection: Connection, known: ScriptDirectory, heads: Sequence[str], name: str
) -> None:
    revisions = {revision.revision for revision in known.walk_revisions()}
    for revision in set(heads) - revisions:
        raise UnusableDatabaseError(
            f"The database {name} is of a newer Heddle: it is at revision {revision!r}, and this "
            f"one knows none after {known.get_current_head()!r}. Start the newer Heddle."
        )
    taken = sorted(metadata.tables.keys() & set(inspect(connection).get_table_names()))
    if taken and not heads:
        raise UnusableDatabaseError(
            f"The database {name} belongs to another program: it has a table {taken[0]!r} that "
            "Heddle did not make. Name an empty one."
        )
