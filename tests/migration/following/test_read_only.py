"""LAMB's database is only read, also while LAMB writes to it."""

import asyncio
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from assistants.replicas import replica
from heddle_runtime.storage.database.engine import Database
from migration.following.following import both_sides, following, small_lamb

_TRACED = "trace=open,openat,creat,fcntl,write,pwrite64,pwritev,ftruncate,unlink,unlinkat,rename"
_WRITES = ("write", "pwrite64", "pwritev", "ftruncate", "unlink", "unlinkat", "rename", "creat")


def calls(trace: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the rest of each call that names a file of a folder."""
    for line in trace.read_text(errors="replace").splitlines():
        match = re.match(r"\d+ +(\w+)\((.*)", line)
        if match and str(folder) in match[2]:
            yield match[1], match[2]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.timeout(240)
@pytest.mark.exhaustive
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
async def test_the_database_of_lamb_is_opened_read_only_and_never_written_or_locked_for_writing(
    database: Database, database_url: str, tmp_path: Path, journal: str
) -> None:
    folder = tmp_path / "lamb"
    folder.mkdir()
    lamb = small_lamb(folder / "lamb_v4.db")
    with lamb.open() as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
    trace = tmp_path / "trace"
    tracer = ("strace", "-D", "-f", "-y", "-qq", "-e", _TRACED, "-o", str(trace))
    settings = {"HEDDLE_LAMB_DATABASE": str(lamb.path)}
    with lamb.open() as connection:  # LAMB, which runs
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        async with replica(database_url, tmp_path / "log", tracer, **settings) as service:
            sides = both_sides(lamb, database, service)
            await sides.until(lambda rows: 3 in rows)
            for number in range(300):  # beside the reads of Heddle
                sides.edit("assistants", 3, system_prompt=f"Prompt {number}")
                await asyncio.sleep(0.01)
            await sides.until_column(3, "system_prompt", "Prompt 299")
        assert {each.name for each in folder.iterdir()} <= {
            "lamb_v4.db",
            "lamb_v4.db-wal",
            "lamb_v4.db-shm",
        }
    of_lamb = list(calls(trace, folder))
    opened = [rest for name, rest in of_lamb if name in ("open", "openat")]
    main = [rest for rest in opened if re.search(r'lamb_v4\.db"', rest)]
    assert len(main) > 4  # the first one, and some beside the writes
    assert all("O_RDONLY" in rest for rest in main)
    assert not any("O_RDWR" in rest or "O_CREAT" in rest for rest in main)
    for rest in opened:
        if "O_RDWR" in rest:
            assert re.search(r'lamb_v4\.db-(wal|shm)"', rest)
    written = [rest for name, rest in of_lamb if name in _WRITES]
    # SQLite gives the shared memory its size; its first reader does.
    assert not [rest for rest in written if "lamb_v4.db-shm" not in rest]
    locks = [rest for name, rest in of_lamb if name == "fcntl" and "lamb_v4.db>" in rest]
    assert any("F_RDLCK" in rest for rest in locks)
    # When SQLite closes a file in WAL mode, it tries to lock it: in vain, as it may only read it.
    refused = [rest for rest in locks if rest.endswith("= -1 EBADF (Bad file descriptor)")]
    assert not any("F_WRLCK" in rest for rest in locks if rest not in refused)


async def test_a_long_write_of_lamb_does_not_wait_for_heddle(
    database_url: str, tmp_path: Path
) -> None:
    lamb = small_lamb(tmp_path / "lamb_v4.db")
    async with following(database_url, lamb) as sides:
        await sides.until(lambda rows: 3 in rows)
        with lamb.open() as connection:
            connection.execute("PRAGMA busy_timeout = 0")  # any lock of Heddle would be an error
            for number in range(200):
                connection.execute(
                    "UPDATE LAMB_assistants SET system_prompt = ? WHERE id = 3", (f"{number}",)
                )
                connection.commit()
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                await asyncio.sleep(0.005)
        await sides.until_column(3, "system_prompt", "199")
