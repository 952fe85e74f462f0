"""Reading a LAMB database leaves it, and its folder, as they were."""

import hashlib
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from heddle_migration_service.lamb.errors import LambDatabaseError
from heddle_migration_service.lamb.snapshot import opened
from migration.lamb.lamb_database import Lamb, filled

QUERY = "SELECT count(*) FROM LAMB_assistants"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def contents(folder: Path) -> dict[str, str]:
    """Return what is in a folder, the memory that processes share aside."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if not path.name.endswith("-shm")
    }


async def count(path: Path) -> int:
    async with opened(path) as connection:
        [row] = await connection.execute_fetchall(QUERY)
        return int(row[0])


@pytest.fixture
def lamb(tmp_path: Path) -> Lamb:
    (tmp_path / "lamb").mkdir()
    return filled(tmp_path / "lamb" / "lamb_v4.db")


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which temporary folders are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("journal", ["WAL", "DELETE", "TRUNCATE"])
async def test_a_copy_is_read_and_stays_as_it_is(tmp_path: Path, journal: str) -> None:
    lamb = Lamb(tmp_path / "lamb_v4.db").make(journal=journal)
    lamb.add("assistants", {"id": 1, "name": "a"})
    before = contents(tmp_path)

    assert await count(lamb.path) == 1

    assert names(tmp_path) == ["lamb_v4.db"]
    assert contents(tmp_path) == before


async def test_what_is_only_in_the_log_of_a_copy_is_read(lamb: Lamb, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    with lamb.open() as writer:
        before = writer.execute(QUERY).fetchone()[0]
        writer.execute("INSERT INTO LAMB_assistants SELECT * FROM LAMB_assistants WHERE 0")
        writer.execute("UPDATE LAMB_assistants SET id = id + 5000, name = name || 'x'")
        writer.execute("DELETE FROM LAMB_assistants WHERE id > 5101")
        writer.commit()
        for ending in ("", "-wal"):
            shutil.copy(f"{lamb.path}{ending}", copy)
    there = contents(copy)

    assert 0 < await count(copy / "lamb_v4.db") < before

    assert contents(copy) == there
    assert names(copy) == ["lamb_v4.db", "lamb_v4.db-wal"]


async def test_a_live_database_is_read_as_of_one_moment_and_its_writer_goes_on(lamb: Lamb) -> None:
    with lamb.open() as writer:
        writer.execute("DELETE FROM LAMB_assistants WHERE id > 101")
        writer.commit()
        left = writer.execute(QUERY).fetchone()[0]
        async with opened(lamb.path) as connection:
            for number in range(5):
                writer.execute("DELETE FROM LAMB_assistants WHERE id = ?", (42 + number,))
                writer.commit()
                writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
                [row] = await connection.execute_fetchall(QUERY)
                assert row[0] == left
        assert await count(lamb.path) < left


async def test_lamb_may_start_while_a_copy_is_read(lamb: Lamb, copies: Path) -> None:
    async with opened(lamb.path) as connection:
        with lamb.open() as writer:
            writer.execute("DELETE FROM LAMB_assistants")
            writer.commit()
        [row] = await connection.execute_fetchall(QUERY)
        assert row[0] > 0
        assert names(copies) == [], "a kill now would leave it behind"
    assert names(lamb.path.parent) == ["lamb_v4.db"]


async def test_it_cannot_be_written_to(lamb: Lamb) -> None:
    async with opened(lamb.path) as connection:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            await connection.execute("DELETE FROM LAMB_assistants")


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0"])
async def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lamb_v4.db"
    path.write_bytes(content)

    with pytest.raises(LambDatabaseError, match=r"lamb_v4\.db is no SQLite database"):
        await count(path)


async def test_a_damaged_database_is_refused(lamb: Lamb) -> None:
    content = lamb.path.read_bytes()
    lamb.path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))

    with pytest.raises(LambDatabaseError, match="cannot be read: database disk image"):
        await count(lamb.path)


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "lamb_v4.db", tmp_path):
        with pytest.raises(LambDatabaseError, match=f"The LAMB database {path} cannot be read"):
            await count(path)
    assert names(tmp_path) == []


async def test_odd_characters_of_a_path_are_its_own(tmp_path: Path) -> None:
    lamb = Lamb(tmp_path / "100% ü?mode=rwc#x.db").make().add("assistants", {"id": 1, "name": "a"})

    assert await count(lamb.path) == 1
