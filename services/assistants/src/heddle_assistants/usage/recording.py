"""Records usage: each entry counts once, and sums are exact with several recorders."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from heddle.usage.v1 import usage_pb2 as pb
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.inserting import Insertion, insertion, upsert
from sqlalchemy import Table, case, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.model_prices import cost_of, price_of
from heddle_assistants.audit.recorded import last_number
from heddle_assistants.database.schema import (
    assistants,
    daily_usage,
    deletion_of_reservations,
    organizations,
    usage,
    usage_recorders,
    usage_reservations,
)
from heddle_assistants.usage.days import today
from heddle_assistants.usage.entries import COUNTS, Entry, entries_of
from heddle_assistants.usage.price_lookup import PriceLookup

MOST_PICOS = 9 * 10**18
"""The highest sum: 9 million US dollars, which fits into 64 bits. Costs of a model stop there."""
_FORGOTTEN = 30 * 86_400  # seconds after a recorder's last entry
_KEYS = [column.name for column in usage.primary_key]
_AMOUNTS = [column.name for column in usage.c if not column.primary_key]


class _Known(NamedTuple):
    organization_id: int
    organization: str


class Recording:
    """Writes usage."""

    def __init__(self, database: Database, price_lookup: PriceLookup) -> None:
        self._database = database
        self._price_lookup = price_lookup

    async def record(self, request: pb.RecordUsageRequest) -> None:
        """Add entries, except those that are recorded already and those of unknown assistants.

        Raises:
            InvalidRequestError: An entry is wrong; the violation says what.
        """
        recorder, entries = request.recorder, entries_of(request)
        last = max((entry.number for entry in request.entries), default=0)
        known = await self._known([*{entry.assistant for entry in entries}])
        counted = [entry for entry in entries if entry.assistant in known]
        costs = [await self._cost(entry, known[entry.assistant]) for entry in counted]
        async with self._database.writing() as connection:
            before = await last_number(connection, usage_recorders, recorder, _FORGOTTEN)
            new = [
                (entry, cost)
                for entry, cost in zip(counted, costs, strict=True)
                if entry.number > before
            ]
            if rows := _rows(new):
                await connection.execute(_adding(connection, usage), rows)
                await connection.execute(_adding(connection, daily_usage), _daily(rows, known))
            if settled := request.settled_reservations[:]:
                ended = usage_reservations.c.reservation.in_(settled)
                await connection.execute(deletion_of_reservations.where(ended))
            if last > before:
                mine = update(usage_recorders).where(usage_recorders.c.recorder == recorder)
                values = {"last_number": last, "recorded_at": int(time.time())}
                await connection.execute(mine.values(**values))

    async def _known(self, numbers: Sequence[int]) -> Mapping[int, _Known]:
        query = (
            select(assistants.c.id, assistants.c.organization_id, organizations.c.slug)
            .join(organizations, assistants.c.organization_id == organizations.c.id)
            .where(assistants.c.id.in_(numbers))
        )
        async with self._database.reading() as connection:
            return {row[0]: _Known(*row[1:]) for row in await connection.execute(query)}

    async def _cost(self, entry: Entry, known: _Known) -> int | None:
        """Return the cost in millionths of a millionth of a US dollar; None if unknown."""
        prices = await self._price_lookup.of(known.organization)
        price = price_of(prices, entry.connector, entry.model)
        return None if price is None else min(cost_of(entry.counts, price), MOST_PICOS)


def _rows(entries: Iterable[tuple[Entry, int | None]]) -> list[dict[str, Any]]:
    """Return the amounts to add, one row for each assistant and model.

    All recorders lock rows in the order of their keys, so that they cannot deadlock.
    """
    rows: dict[tuple[int, str, str], Counter[str]] = defaultdict(Counter)
    for entry, cost in entries:
        row = rows[entry.assistant, entry.connector, entry.model]
        row.update({name: getattr(entry.counts, name) for name in COUNTS})
        if cost is None:
            row["unpriced_tokens"] += entry.counts.prompt_tokens + entry.counts.completion_tokens
        row["cost_picos"] += cost or 0
    return [
        {
            **dict(zip(_KEYS, key, strict=True)),
            **{name: row[name] for name in _AMOUNTS},
            "cost_picos": min(row["cost_picos"], MOST_PICOS),
        }
        for key, row in sorted(rows.items(), key=itemgetter(0))
    ]


def _daily(rows: Iterable[Mapping[str, Any]], known: Mapping[int, _Known]) -> list[dict[str, Any]]:
    day = today()
    return [
        {**row, "day": day, "organization_id": known[row["assistant_id"]].organization_id}
        for row in rows
    ]


def _adding(connection: AsyncConnection, table: Table) -> Insertion:
    query = insertion(connection, table)
    more = query.excluded
    sums = {name: table.c[name] + more[name] for name in _AMOUNTS}
    full = table.c.cost_picos > MOST_PICOS - more.cost_picos
    sums["cost_picos"] = case((full, MOST_PICOS), else_=sums["cost_picos"])
    return upsert(query, **sums)
