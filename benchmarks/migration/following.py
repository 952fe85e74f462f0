"""`python -m benchmarks.migration.following`: what following a LAMB database costs, and its delay.

LAMB's database has assistants that do not change. The CPU time is that of the assistants service
and the migration service together, with and without following; the difference is what following
costs. The limit of 1 % of a core is for a LAMB that writes nothing. A LAMB that writes other tables
each second is measured, too: then all rows are read each time.
"""

import argparse
import asyncio
import sqlite3
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from heddle_assistants.database.schema import assistants
from heddle_runtime.storage.database.engine import Database, open_database
from sqlalchemy import func, select

from benchmarks.gateway.accounting import cpu_seconds
from benchmarks.migration import lamb
from benchmarks.migration.databases import NAMES, fill, fresh
from benchmarks.migration.rows import rows
from benchmarks.migration.service import serving

LIMIT = 0.01
"""Of a core."""
_POLL = 0.01
_SETTLED_SECONDS = 10.0
_PATIENCE_SECONDS = 600.0
_OTHER_TABLE = "CREATE TABLE IF NOT EXISTS usage_logs (id INTEGER PRIMARY KEY, tokens INTEGER)"


def options() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.migration.following", description=__doc__
    )
    parser.add_argument("--database", choices=NAMES, default="sqlite", help="[sqlite]")
    parser.add_argument("--rows", type=int, default=10_000, help="assistants [10000]")
    parser.add_argument("--seconds", type=float, default=130, help="of each measurement [130]")
    parser.add_argument("--edits", type=int, default=30, help="edits whose delay counts [30]")
    parser.add_argument("--gate", action="store_true", help="exit with 1 if the limit is missed")
    return parser.parse_args()


@asynccontextmanager
async def followed(
    flags: argparse.Namespace, folder: Path, **settings: str
) -> AsyncIterator[tuple[Database, list[int]]]:
    """Yield the database of the services, and their processes."""
    with fresh(flags.database, folder) as url:
        await asyncio.to_thread(fill, url, iter(()))
        with serving(url, folder, validating=False, **settings) as service:
            async with open_database(url) as database:
                yield database, service.pids


async def spent(
    pids: list[int], seconds: float, each_second: Callable[[], object] = lambda: None
) -> float:
    """Return the share of a core that processes use."""
    before, began = cpu_seconds(pids), time.monotonic()
    while time.monotonic() < began + seconds:
        each_second()
        await asyncio.sleep(1)
    return (cpu_seconds(pids) - before) / (time.monotonic() - began)


async def count(database: Database) -> int:
    """Return the number of assistants."""
    async with database.reading() as connection:
        return await connection.scalar(select(func.count()).select_from(assistants)) or 0


async def until_followed(database: Database, number: int) -> float:
    """Wait until all assistants are followed; return how long that took."""
    began = time.monotonic()
    while await count(database) < number:
        if time.monotonic() > began + _PATIENCE_SECONDS:
            raise TimeoutError("The assistants do not come.")
        await asyncio.sleep(_POLL)
    return time.monotonic() - began


async def delays(database: Database, connection: sqlite3.Connection, edits: int) -> list[float]:
    """Return the seconds after which edits are visible."""
    measured = []
    query = select(assistants.c.system_prompt).where(assistants.c.id == 1)
    for number in range(edits):
        connection.execute("UPDATE assistants SET system_prompt = ? WHERE id = 1", (f"{number}",))
        connection.commit()
        began = time.monotonic()
        while True:
            async with database.reading() as reading:
                if await reading.scalar(query) == f"{number}":
                    break
            await asyncio.sleep(_POLL)
        measured.append(time.monotonic() - began)
        await asyncio.sleep(0.1 + number % 10 / 10)  # at different moments of the follower
    return measured


async def measure(flags: argparse.Namespace, folder: Path) -> bool:
    """Measure and print; return whether the limit is kept."""
    (folder / "without").mkdir()
    async with followed(flags, folder / "without") as (_, pids):
        await asyncio.sleep(_SETTLED_SECONDS)
        without = await spent(pids, flags.seconds)
    path = folder / "lamb_v4.db"
    lamb.write(path, rows(flags.rows))
    (folder / "with").mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(_OTHER_TABLE)
        connection.commit()
        settings = {"HEDDLE_LAMB_DATABASE": str(path)}
        async with followed(flags, folder / "with", **settings) as (database, pids):
            first = await until_followed(database, flags.rows)
            await asyncio.sleep(_SETTLED_SECONDS)
            unchanged = await spent(pids, flags.seconds) - without

            def write() -> None:
                connection.execute("INSERT INTO usage_logs (tokens) VALUES (1)")
                connection.commit()

            busy = await spent(pids, flags.seconds, write) - without
            measured = await delays(database, connection, flags.edits)
    is_within = unchanged <= LIMIT
    print(f"{flags.rows:,} assistants, {flags.database}, {flags.seconds:g} s each")
    print(f"first following:                   {first:.1f} s")
    print(f"services without following:        {without:.2%} of a core")
    print(f"following, LAMB writes nothing:    {unchanged:.2%} of a core, {_verdict(is_within)}")
    print(f"following, LAMB writes each second: {busy:.2%} of a core")
    middle, most = statistics.median(measured), max(measured)
    print(f"an edit is visible after:          {middle:.2f} s, at most {most:.2f} s")
    return is_within


def _verdict(is_within: bool) -> str:  # noqa: FBT001 - what it says
    return f"{'within' if is_within else 'above'} the limit of {LIMIT:.0%}"


def main() -> int:
    """Run the benchmark and return the exit code."""
    flags = options()
    with TemporaryDirectory(prefix="heddle-bench-") as folder:
        is_within = asyncio.run(measure(flags, Path(folder)))
    return 1 if flags.gate and not is_within else 0


if __name__ == "__main__":
    sys.exit(main())
