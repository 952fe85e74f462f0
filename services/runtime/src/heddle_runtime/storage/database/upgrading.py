"""Upgrades the tables to this version before the service starts, and downgrades them."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import structlog
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, delete, func, insert, inspect, select, text

from heddle_runtime.errors import UnavailableError
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.failures import UnusableDatabaseError
from heddle_runtime.storage.database.schema import Schema

log = structlog.get_logger(__name__)
_ENVIRONMENT = Path(__file__).with_name("revisions")
_PATIENCE = 600.0  # seconds for another replica's upgrade
_LOCK = 0x68656464  # any number that nobody else uses for an advisory lock: "hedd"


async def upgrade(database: Database, schema: Schema) -> None:
    """Upgrade the tables to this version. Of several replicas one does so; the others wait.

    An empty database gets the tables of `schema.metadata`; an older one is changed by Alembic's
    revisions.

    Raises:
        UnusableDatabaseError: The database is of a newer version, or another program's.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            async with database.writing() as connection:
                await connection.run_sync(_upgrade, database.name, schema)
        except UnavailableError as error:  # another replica is at it, or the server just starts
            if time.monotonic() > until:
                raise UnusableDatabaseError(f"The database {database.name} stays busy.") from error
            log.warning("database not ready for an upgrade", problem=error.message)
            await asyncio.sleep(1)
        else:
            return


async def current_revision(database: Database) -> str:
    """Return the revision of the tables; empty if there are none."""
    async with database.reading() as connection:
        return await connection.run_sync(
            lambda it: ", ".join(MigrationContext.configure(it).get_current_heads())
        )


def _locked(connection: Connection, schema: Schema) -> tuple[Config, ScriptDirectory]:
    """Exclude other processes until the transaction ends, and return the revisions."""
    # On SQLite the transaction itself is the lock.
    if connection.dialect.name == "postgresql":
        for setting in ("statement_timeout", "lock_timeout"):
            connection.execute(text(f"SET LOCAL {setting} = 0"))
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    config = _config(schema, connection=connection)
    return config, ScriptDirectory.from_config(config)


def _upgrade(connection: Connection, name: str, schema: Schema) -> None:
    config, known = _locked(connection, schema)
    heads = MigrationContext.configure(connection).get_current_heads()
    if set(heads) == set(known.get_heads()) or _serves_newer(connection, schema, known, heads):
        return
    _refuse_strangers(connection, schema, known, heads, name)
    if heads:
        command.upgrade(config, "head")
    else:
        schema.metadata.create_all(connection, checkfirst=False)
        command.stamp(config, "head")
    _note_compatibility(connection, schema, known)


async def downgrade(database: Database, schema: Schema, revision: str) -> None:
    """Downgrade the tables to an earlier version.

    Raises:
        UnusableDatabaseError: That would lose data, or there is no such revision. Nothing changed.
    """
    async with database.writing() as connection:
        await connection.run_sync(_downgrade, database.name, schema, revision)


def _downgrade(connection: Connection, name: str, schema: Schema, revision: str) -> None:
    config, known = _locked(connection, schema)
    heads = MigrationContext.configure(connection).get_current_heads()
    earlier = [each.revision for each in known.iterate_revisions(heads, "base")]
    if revision not in earlier:
        raise UnusableDatabaseError(
            f"The database {name} is at revision {', '.join(heads)!r}. It has no earlier revision "
            f"{revision!r}."
        )
    for each in known.iterate_revisions(heads, revision):
        try:
            _take_back(config, each)
        except UnusableDatabaseError as error:
            raise UnusableDatabaseError(
                f"Revision {each.revision!r} of the database {name} cannot be taken back: {error}. "
                "Nothing was changed. To return to the earlier version, restore the backup from "
                "before the upgrade."
            ) from error
    if inspect(connection).has_table(schema.compatibility.name):
        _note_compatibility(connection, schema, known)


def _take_back(config: Config, revision: Script) -> None:
    if not hasattr(revision.module, "downgrade"):
        raise UnusableDatabaseError("that would delete what has been stored since")
    command.downgrade(config, str(revision.down_revision))


def _note_compatibility(connection: Connection, schema: Schema, known: ScriptDirectory) -> None:
    """Store which earlier version works with the tables."""
    (current,) = MigrationContext.configure(connection).get_current_heads()
    oldest = getattr(known.get_revision(current).module, "oldest_compatible", current)
    connection.execute(delete(schema.compatibility))
    connection.execute(insert(schema.compatibility).values(oldest_revision=oldest))


def _serves_newer(
    connection: Connection, schema: Schema, known: ScriptDirectory, heads: Sequence[str]
) -> bool:
    """Return whether the tables are of a newer version that says that this one works with them."""
    revisions = {each.revision for each in known.walk_revisions()}
    if not set(heads) - revisions or not inspect(connection).has_table(schema.compatibility.name):
        return False
    oldest = connection.scalar(select(schema.compatibility.c.oldest_revision))
    if oldest not in revisions:
        return False
    log.warning("the database is of a newer version, and works with this one", revision=heads[0])
    return True


def newest_revision(schema: Schema) -> str:
    """Return the revision of the tables of this version."""
    return str(ScriptDirectory.from_config(_config(schema)).get_current_head())


def _config(schema: Schema, **attributes: Connection) -> Config:
    config = Config(attributes={"metadata": schema.metadata, **attributes})
    config.set_main_option("script_location", str(_ENVIRONMENT).replace("%", "%%"))
    config.set_main_option("version_locations", str(schema.revisions).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    return config


def _refuse_strangers(
    connection: Connection, schema: Schema, known: ScriptDirectory, heads: Sequence[str], name: str
) -> None:
    revisions = {revision.revision for revision in known.walk_revisions()}
    for revision in set(heads) - revisions:
        if revision < (first := str(known.get_base())):
            raise UnusableDatabaseError(
                f"The database {name} is at revision {revision!r}, and this one needs {first!r}. "
                "Start a Heddle that knows both, which upgrades it, or name an empty database."
            )
        module = schema.module
        hint = f"take the revision back with its `python -m {module} downgrade`, " if module else ""
        raise UnusableDatabaseError(
            f"The database {name} is of a newer Heddle: it is at revision {revision!r}, and this "
            f"one knows none after {known.get_current_head()!r}. Start the newer Heddle, "
            f"{hint}or restore the backup from before the upgrade."
        )
    taken = sorted(schema.metadata.tables.keys() & set(inspect(connection).get_table_names()))
    if taken and not heads:
        raise UnusableDatabaseError(
            f"The database {name} belongs to another program: it has a table {taken[0]!r} that "
            "Heddle did not make. Name an empty one."
        )
