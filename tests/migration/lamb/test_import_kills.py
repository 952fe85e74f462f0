"""Kill -9 in the middle of an import, and imports beside each other."""

import asyncio
import random
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from heddle_migration_service.database.engine import Database
from heddle_migration_service.database.schema import assistants
from migration.database.processes import outputs
from migration.lamb.lamb_database import Lamb, filled
from migration.lamb.running import rows, run
from runtime.examples import repetitions

SCRIPT = Path(__file__).with_name("import_until_killed.py")
ROWS = 6_000


def large(path: Path) -> Lamb:
    many = ({"id": 1000 + n, "name": f"n{n}", "api_callback": f"{n}"} for n in range(ROWS))
    return filled(path).add("assistants", *many)


async def ready(database_url: str, lamb: Lamb) -> Process:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, SCRIPT, database_url, lamb.path), stdin=PIPE, stdout=PIPE
    )
    assert process.stdout
    assert await process.stdout.readline() == b"ready\n"
    return process


async def test_a_killed_import_goes_on_where_it_was(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    lamb = large(tmp_path / "lamb_v4.db")
    seed = random.randrange(10**6)  # noqa: S311 (a test's dice)
    moments = random.Random(seed)  # noqa: S311 (a test's dice)
    done = 0
    for _ in range(repetitions(3)):
        process = await ready(database_url, lamb)
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"go\n")
        while not (line := await process.stdout.readline()).startswith(b"assistants"):
            assert line, f"seed {seed}"
        for _ in range(moments.randrange(1, 4)):
            line = await process.stdout.readline() or line
        process.kill()
        await process.wait()
        acknowledged = done + int(line.split()[1])
        done = len(await rows(database, assistants))
        assert done >= acknowledged, f"seed {seed}"
    assert 0 < done < ROWS, f"seed {seed}"

    report = await run(lamb, database)

    told = report.counts["assistants"]
    assert (told[1], told[2], told[3]) == (told[0] - done, done, 0)
    found = await rows(database, assistants)
    assert len(found) == told[0]
    assert all(found[1000 + n]["metadata"] == f"{n}" for n in range(ROWS))


async def test_two_imports_at_once_import_everything_once(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    lamb = large(tmp_path / "lamb_v4.db")

    told = await outputs([await ready(database_url, lamb) for _ in range(2)])

    changed = sum(max(_assistants(each)) for each in told)
    found = await rows(database, assistants)
    assert changed == len(found)
    assert len(found) > ROWS


def _assistants(printed: bytes) -> list[int]:
    lines = (line.split() for line in printed.splitlines())
    return [int(changed) for table, changed in lines if table == b"assistants"]
