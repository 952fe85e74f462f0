"""Whatever a row of LAMB holds: the others are imported and followed, and it is, or is named."""

import asyncio
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from heddle.assistant.v1 import following_pb2
from heddle_assistants.database.schema import (
    assistants,
    followed_rows,
    knowledge_bases,
    knowledge_stores,
    organizations,
    rubrics,
    usage,
    users,
)
from heddle_assistants.following.claims import Claims
from heddle_migration_service.following.applying import Applying
from heddle_migration_service.following.comparing import compare
from heddle_migration_service.following.rows import SOURCES, Known, Source
from heddle_migration_service.lamb.knowledge_stores import store_number
from heddle_runtime.http.egress import Egress
from heddle_runtime.storage.database.engine import Database, open_database
from migration.lamb.arbitrary import (
    GOOD,
    Row,
    add_rows,
    arbitrary_rows,
    good_lamb,
    mend,
    numbers,
)
from migration.lamb.lamb_database import Lamb
from migration.lamb.running import run, services
from runtime.examples import sampled
from sqlalchemy import select

TABLES = {
    "organizations": organizations,
    "Creator_users": users,
    "assistants": assistants,
    "rubrics": rubrics,
    "kb_registry": knowledge_bases,
    "knowledge_stores": knowledge_stores,
    "assistant_usage_totals": usage,
}
VOLATILE = {"config", "revision", "updated_at"}
"""Columns of good rows that depend on other rows, or on the time."""
AT_ONCE = 20
"""LAMB databases whose rows are put into one, which is imported once."""
SEEDS = pytest.mark.parametrize("seed", sampled(range(2_000 // AT_ONCE), 1, full=25))
Rows = dict[str, dict[int, dict[str, Any]]]
"""The rows of Heddle, by LAMB's tables and numbers."""


@dataclass
class Place:
    """Where databases are made."""

    folder: Path
    template: Path
    good: Lamb
    expected: Rows = field(default_factory=dict)
    """What is imported of the good rows alone."""

    @asynccontextmanager
    async def databases(self, odd_rows: list[Row]) -> AsyncGenerator[tuple[Lamb, Database]]:
        """Yield a LAMB database with the good rows and others, and an empty one of Heddle."""
        heddle, lamb = self.folder / "heddle.db", Lamb(self.folder / "lamb.db")
        for file in self.folder.glob("*.db-*"):
            file.unlink()
        shutil.copyfile(self.template, heddle)
        shutil.copyfile(self.good.path, lamb.path)
        add_rows(lamb, odd_rows)
        async with open_database(f"sqlite:///{heddle}") as database:
            yield lamb, database


@pytest.fixture
def place(tmp_path: Path, sqlite_template: Path) -> Place:
    place = Place(tmp_path, sqlite_template, good_lamb(tmp_path / "good.db"))

    async def expect() -> None:
        async with place.databases([]) as (lamb, database):
            await run(lamb, database)
            place.expected = good_rows(await stored(database))

    asyncio.run(expect())
    return place


async def stored(database: Database) -> Rows:
    """Return all rows of Heddle that can be LAMB's."""
    records: Rows = {}
    async with database.reading() as connection:
        for name, table in TABLES.items():
            key = "assistant_id" if table is usage else "id"
            rows = (await connection.execute(select(table))).mappings()
            records[name] = {row[key]: dict(row) for row in rows}
    return records


def good_rows(records: Rows) -> Rows:
    """Return what is expected of the good rows."""
    rows: Rows = {}
    for table, row in GOOD.items():
        key = next(iter(row.values()))
        number = store_number(key.encode()) if isinstance(key, str) else key
        assert number is not None
        record = records[table].get(number, {})
        rows[table] = {number: {k: v for k, v in record.items() if k not in VOLATILE}}
    return rows


async def imported(place: Place, odd_rows: list[Row]) -> None:
    async with place.databases(odd_rows) as (lamb, database):
        dry = await run(lamb, database, dry_run=True)
        report = await run(lamb, database)
        records = await stored(database)
        assert good_rows(records) == place.expected
        assert dry.plain() == report.plain()
        for table, present in numbers(lamb).items():
            findings = report.findings.get(table, {}).values()
            refused = {int(each.id) for each in findings if each.HasField("error")}
            total, changed, unchanged, refusals = report.counts[table]
            assert total == len(present) == changed + unchanged + refusals, table
            # Organisations of one slug are one.
            twins = unchanged if table == "organizations" else 0
            assert len(set(present) - records[table].keys() - refused) <= twins, table


async def followed(place: Place, odd_rows: list[Row]) -> None:
    async with place.databases(odd_rows) as (lamb, database):
        _, applying, _ = await services(database, Egress([]))
        await Claims(database).claim(following_pb2.ClaimFollowingRequest(claimant="test"))
        known = {source: await applying.known(source) for source in SOURCES}
        await follow(lamb, known, applying)
        assert good_rows(await stored(database)) == place.expected
        refused = await check_followed(lamb, database)
        again = await compare(lamb.path, None, known)
        assert again.batches == [], "what is refused is not sent again at once"
        mend(lamb, refused)
        await follow(lamb, known, applying)
        refused = await check_followed(lamb, database)
        assert not any(refused.values())


async def check_followed(lamb: Lamb, database: Database) -> dict[str, set[int]]:
    """Return the numbers of the rows that are refused; all others of LAMB must be in Heddle."""
    names = {table.name: name for name, table in TABLES.items()}
    refused: dict[str, set[int]] = {name: set() for name in TABLES}
    applied: dict[str, set[int]] = {name: set() for name in TABLES}
    async with database.reading() as connection:
        for record in await connection.execute(select(followed_rows)):
            numbers_of = refused if record.refusal else applied
            numbers_of[names[record.source]].add(record.row_id)
    records = await stored(database)
    for table, present in numbers(lamb).items():
        assert set(present) <= applied[table] | refused[table], table
        if table != "organizations":  # those of one slug are one
            assert set(present) - refused[table] <= records[table].keys(), table
    return refused


async def follow(lamb: Lamb, known: dict[Source, Known], applying: Applying) -> None:
    comparison = await compare(lamb.path, None, known)
    assert comparison.is_complete
    for batch in comparison.batches:
        await applying.apply(batch, known[batch.source])


def rows_of(seed: int) -> list[Row]:
    random = Random(seed)  # noqa: S311 - no secret
    return [row for _ in range(AT_ONCE) for row in arbitrary_rows(random)]


@SEEDS
def test_each_row_is_imported_or_named(place: Place, seed: int) -> None:
    asyncio.run(imported(place, rows_of(seed)))


@SEEDS
def test_each_row_is_followed_or_named_until_it_is_mended(place: Place, seed: int) -> None:
    asyncio.run(followed(place, rows_of(seed)))
