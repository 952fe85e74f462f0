"""Reading a LAMB database, live or a copy, without changing it or leaving anything beside it."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite

from heddle_migration_service.lamb.errors import LambDatabaseError, explained
from heddle_migration_service.lamb.mounts import is_remote

_MAGIC = b"SQLite format 3\0"
_WAL = 2
_WAL_AT = 18  # where a file says how it is written
_ATTEMPTS = 10
_PAUSE = 0.2
_PATIENCE_MS = 10_000
_State = tuple[tuple[int, int] | None, ...]


@asynccontextmanager
async def opened(path: Path) -> AsyncGenerator[aiosqlite.Connection]:
    """Yield a connection that sees one state of the database until the block is left.

    A database that somebody has open is read where it is, beside its writer. One in WAL mode that
    nobody has open is copied first: to read it, SQLite would make two files beside it, which LAMB,
    perhaps another user of the machine, could then not write to. So is one on a network file
    system, where locks do not reach LAMB's machine. A LAMB so old that it does not use WAL mode
    waits with its writes until the block is left.

    Args:
        path: Where it is, absolute.

    Raises:
        LambDatabaseError: There is no database, or it cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="heddle-lamb-", ignore_cleanup_errors=True) as folder:
        with explained(path, OSError):
            readable = await _readable(path, Path(folder))
            connection = await aiosqlite.connect(
                f"{readable.as_uri()}?mode=ro", uri=True, isolation_level=None
            )
        try:
            with explained(path, OSError):
                connection.text_factory = bytes  # not every text is UTF-8
                await connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
                await connection.execute("BEGIN")
                await connection.execute_fetchall("SELECT count(*) FROM sqlite_master")
            # The copy stays open and needs no name any more: a kill leaves no secrets on the disk.
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            yield connection
        finally:
            await connection.close()


async def _readable(path: Path, folder: Path) -> Path:
    for _ in range(_ATTEMPTS):
        if not await asyncio.to_thread(_needs_copy, path):
            return path
        if copy := await asyncio.to_thread(_copied, path, folder):
            return copy
        await asyncio.sleep(_PAUSE)
    raise LambDatabaseError(f"The LAMB database {path} changes all the time. Try again.")


def _needs_copy(path: Path) -> bool:
    if is_remote(path):
        return True
    head = _head(path)
    if not head.startswith(_MAGIC) or len(head) <= _WAL_AT:
        raise LambDatabaseError(f"The LAMB database {path} is no SQLite database.")
    return head[_WAL_AT] == _WAL and not (_beside(path, "-wal") and _beside(path, "-shm"))


_heads: dict[Path, tuple[int, tuple[int, int]]] = {}
"""The files whose beginnings were read. To close one would end the locks that this process holds on
it, those of other readers too: that is how Linux defines them."""


def _head(path: Path) -> bytes:
    stat = path.stat()
    identity = (stat.st_dev, stat.st_ino)
    known = _heads.get(path)
    if known is None or known[1] != identity:
        if known is not None:
            os.close(known[0])  # of a file that has another one in its place
        known = _heads[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC), identity
    return os.pread(known[0], _WAL_AT + 1, 0)


def _copied(path: Path, folder: Path) -> Path | None:
    """Return a copy, or None if somebody wrote meanwhile."""
    copy = folder / "copy.db"
    try:
        before = _state(path)
        shutil.copyfile(path, copy)
        if wal := _beside(path, "-wal"):
            shutil.copyfile(wal, folder / "copy.db-wal")
        return copy if _state(path) == before else None
    except FileNotFoundError:  # LAMB tidied up
        return None


def _beside(path: Path, ending: str) -> Path | None:
    other = path.with_name(path.name + ending)
    return other if other.exists() else None


def _state(path: Path) -> _State:
    stats = [file.stat() if file else None for file in (path, _beside(path, "-wal"))]
    return tuple((stat.st_size, stat.st_mtime_ns) if stat else None for stat in stats)
