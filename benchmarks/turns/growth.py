"""`python -m benchmarks.turns.growth`: the cost of a turn with a search, by what is stored."""

import argparse
import asyncio
import statistics
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from heddle_assistants.database.schema import SCHEMA, assistants, organizations
from heddle_knowledge.collection.registry import LAYOUT, TABLE, encoded
from heddle_knowledge.collection.types import Collection
from heddle_knowledge.embedders.embedding import MINILM
from heddle_knowledge.embedders.local_embedders import LOCAL_MODELS
from heddle_knowledge.engines.address import open_engine
from heddle_runtime.storage.database.engine import open_database
from heddle_runtime.storage.database.upgrading import upgrade
from sqlalchemy import insert

from benchmarks.gateway.measure import LoadClient, load_client, measure, wait_until_ready
from benchmarks.turns.__main__ import Turns
from benchmarks.turns.systems import running

COUNTS = (10, 1_000, 100_000)
TURN = "simple_rag, 200"
_MESSAGES = "messages"
_CLIENTS, _TOKENS = 4, 16
_DIFFERENT = 300
"""Questions: more than a collection has answers in memory."""
_BATCH = 1_000
_NOW = {"created_at": 1, "updated_at": 1}
Settings = Mapping[str, str]


def add_assistants(count: int, settings: Settings) -> None:
    """Store assistants of another organisation."""
    of_rows = {"organization_id": 1, "owner": "a@example.org", "metadata": "{}", **_NOW}
    rows = ({"name": f"assistant{at}", **of_rows} for at in range(count))
    asyncio.run(_inserted(settings, 1, rows))


def add_organizations(count: int, settings: Settings) -> None:
    """Store organisations."""
    asyncio.run(_inserted(settings, count, iter(())))


async def _inserted(settings: Settings, slugs: int, rows: Iterator[dict[str, Any]]) -> None:
    others = ({"slug": f"o{at}", "name": f"o{at}", **_NOW} for at in range(slugs))
    async with open_database(settings["HEDDLE_ASSISTANTS_DATABASE"]) as database:
        await upgrade(database, SCHEMA)
        for table, values in ((organizations, others), (assistants, rows)):
            while batch := list(islice(values, _BATCH)):
                async with database.writing() as connection:
                    await connection.execute(insert(table), batch)


def add_collections(count: int, settings: Settings) -> None:
    """Store records of collections, which another engine has, of the organisation that asks."""
    asyncio.run(_registered(count, settings["HEDDLE_KNOWLEDGE_DATA_DIR"]))


async def _registered(count: int, folder: str) -> None:
    info = LOCAL_MODELS[MINILM]
    records = [
        Collection(
            *(f"collection{at}", "", "qdrant", {}, info.model, info.dim, info.revision),
            *(datetime.now(UTC), uuid.uuid4().hex),
        )
        for at in range(count)
    ]
    rows = [{"id": each.id, "record": encoded(each), "deleted_at": 0} for each in records]
    async with open_engine(folder, {}) as engine:
        table = await engine.open(TABLE, LAYOUT)
        await table.append(pa.Table.from_pylist(rows, schema=LAYOUT.schema))


KINDS: Mapping[str, Callable[[int, Settings], None]] = {
    "assistants": add_assistants,
    "collections": add_collections,
    "organisations": add_organizations,
}


def cost(load: LoadClient, scenario: Turns, add: Callable[[Settings], None], rounds: int) -> float:
    """Return the milliseconds of CPU that a turn needs in an installation of its own."""
    with (
        TemporaryDirectory(prefix="heddle-growth-") as folder,
        running([("Heddle", sys.executable)], Path(folder), add) as systems,
    ):
        (system,) = (each for each in systems if each.name.endswith(TURN))
        wait_until_ready([system], load)
        once = Turns("once", "", 8, _TOKENS, seconds=120, requests=_DIFFERENT, different=_DIFFERENT)
        load.run(once.job(system))
        measured = [measure(system, scenario, load, number) for number in range(rounds)]
    if error := next(filter(None, (each.outcome.first_error for each in measured)), ""):
        raise SystemExit(error)
    return statistics.median(each.cpu for each in measured) / 1_000


def main() -> None:
    """Print a table of costs."""
    parser = argparse.ArgumentParser("python -m benchmarks.turns.growth", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of each measurement [5]")
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS, help="[10 1000 100000]")
    parser.add_argument("--kinds", nargs="+", default=[*KINDS, _MESSAGES], help="[all]")
    options = parser.parse_args()
    print("| CPU ms a turn | " + " | ".join(f"{count:,}" for count in options.counts) + " |")
    print("|---|" + "--:|" * len(options.counts))
    with load_client() as load:
        for kind in options.kinds:
            costs = []
            for count in options.counts:
                earlier = count if kind == _MESSAGES else 0
                turns = Turns(kind, "", _CLIENTS, _TOKENS, different=_DIFFERENT, earlier=earlier)
                add = partial(KINDS[kind], count) if kind in KINDS else _nothing
                costs.append(cost(load, turns, add, options.rounds))
            print(f"| {kind} | " + " | ".join(f"{each:.2f}" for each in costs) + " |", flush=True)


def _nothing(_: Settings) -> None:
    """Add nothing: messages come with the questions."""


if __name__ == "__main__":
    main()
