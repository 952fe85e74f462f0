"""A full disk of the SQLite database."""

from pathlib import Path

import pytest
from assistants.database.rows import add_organization
from full_disk import needs_root, small_disk
from heddle_assistants.database.schema import SCHEMA, organizations
from heddle_runtime.errors import StorageError
from heddle_runtime.storage.database.engine import open_database
from heddle_runtime.storage.database.upgrading import upgrade
from sqlalchemy import func, select, update


@needs_root
async def test_a_write_to_a_full_disk_is_a_typed_error_and_changes_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        async with open_database(f"sqlite:///{disk.folder}/heddle.db") as database:
            await upgrade(database, SCHEMA)
            await add_organization(database)
            await database.check()
            disk.fill()
            with pytest.raises(StorageError) as caught:
                async with database.writing() as connection:
                    await connection.execute(update(organizations).values(config="x" * 1_000_000))
            assert str(disk.folder) in caught.value.diagnosis
            with pytest.raises(StorageError):
                await database.check()
            async with database.reading() as connection:
                length = func.length(organizations.c.config)
                assert await connection.scalar(select(length)) == 2

            disk.free()
            await database.check()
            async with database.writing() as connection:
                await connection.execute(update(organizations).values(name="new"))
