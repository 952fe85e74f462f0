"""Reports usage to callers who may read it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heddle.assistant.v1 import assistant_pb2
from heddle.usage.v1 import usage_pb2 as pb
from heddle_conversion import convert_row, parse
from heddle_runtime.contract.audit import Change
from heddle_runtime.errors import MalformedAssistantError, NewerFormatError, NotFoundError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import may_administer_in
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import Row as UsageRow
from sqlalchemy import bindparam, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.access import ASSISTANTS, may_edit, may_use
from heddle_assistants.accounts.model_prices import MICROS, Prices, price_of
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.catalog.all_assistants import Catalog
from heddle_assistants.database.assistant_row import ROWS, Row
from heddle_assistants.database.schema import assistants, organizations, usage
from heddle_assistants.repository.migrating import Stored
from heddle_assistants.repository.quotas import MEMBER, quota_of
from heddle_assistants.repository.reader import contract
from heddle_assistants.repository.rows import Rows
from heddle_assistants.repository.writer import no_assistant
from heddle_assistants.usage.entries import COUNTS
from heddle_assistants.usage.price_lookup import PriceLookup

Used = Sequence[UsageRow[Any]]


class Budgets:
    """Finds the quotas of assistants. Those without a quota cost nothing here."""

    def __init__(self, database: Database, price_lookup: PriceLookup) -> None:
        self._price_lookup = price_lookup
        spent = select(func.sum(usage.c.cost_picos))
        self._spent = database.row_reader(spent.where(usage.c.assistant_id == bindparam("id")))

    async def of(self, assistant: assistant_pb2.Assistant) -> assistant_pb2.Quota | None:
        """Return the quota of an assistant in the database, None if it has none."""
        if f'"{MEMBER}"' not in assistant.extra_json:
            return None
        row = await self._spent(int(assistant.id))
        spent = int(row[0] or 0) if row else 0
        return quota_message(assistant, spent, await self._price_lookup.of(assistant.organization))


def quota_message(
    assistant: assistant_pb2.Assistant, spent: int, prices: Prices
) -> assistant_pb2.Quota | None:
    """Return an assistant's quota as a message; None if it has none.

    Args:
        assistant: The assistant.
        spent: The costs so far, in millionths of a millionth of a US dollar.
        prices: The prices of its organisation.
    """
    quota = quota_of(parse(assistant.extra_json))
    if quota is None:
        return None
    quota.spent_micros = spent // MICROS
    price = price_of(prices, assistant.model.connector, assistant.model.model)
    quota.exceeded = quota.spent_micros >= quota.limit_micros
    quota.priced = price is not None
    if price is not None:
        quota.price.CopyFrom(price)
    return quota


@dataclass(eq=False, slots=True)
class Reports:
    """Reads usage, and resets it."""

    database: Database
    audit: AuditLog
    catalog: Catalog
    rows: Rows
    price_lookup: PriceLookup

    async def of(self, identifier: str, identity: Identity) -> pb.AssistantUsage:
        """Return the usage of an assistant.

        Raises:
            NotFoundError: There is none that `identity` may change, or it comes from a file.
        """
        row = await self._row(identifier, identity)
        if row is None or not may_edit(identity, row):
            raise no_assistant(identifier)
        async with self.database.reading() as connection:
            used = await _used(connection, [row.id])
        return await self._report(row, used[row.id])

    async def listed(
        self, identity: Identity, organization: str, after: int, limit: int
    ) -> list[pb.AssistantUsage]:
        """Return the usage of assistants, in the order of their ids.

        Args:
            identity: Who asks; sees those that it may change.
            organization: The slug of the only organisation, all if it is empty.
            after: The id before the first.
            limit: The maximum number of results.
        """
        query = ROWS.where(
            assistants.c.id > after,
            assistants.c.id.in_(select(usage.c.assistant_id)),
            ASSISTANTS.editable(identity),
        )
        if "\0" in organization:  # which PostgreSQL neither keeps nor compares
            return []
        if organization:
            query = query.where(organizations.c.slug == organization)
        async with self.database.reading() as connection:
            records = await connection.execute(query.order_by(assistants.c.id).limit(limit))
            rows = [Row._make(each) for each in records]
            used = await _used(connection, [row.id for row in rows])
        return [await self._report(row, used[row.id]) for row in rows]

    async def reset(self, identifier: str, identity: Identity) -> None:
        """Reset the usage of an assistant.

        Raises:
            NotFoundError: There is none whose organisation `identity` administers, or it comes
                from a file.
        """
        async with self.audit.attempt("usage.reset", identifier):
            row = await self._row(identifier, identity)
            if row is None or not may_administer_in(identity, row.organization):
                raise no_assistant(identifier)
        async with self.audit.writing() as (connection, changes):
            used = (await _used(connection, [row.id]))[row.id]
            await connection.execute(delete(usage).where(usage.c.assistant_id == row.id))
            counts = sorted([list(each) for each in used])
            before = {"name": row.name, "counts": counts}
            changes.append(Change("usage.reset", identifier, row.organization, before=before))

    async def _row(self, identifier: str, identity: Identity) -> Row | None:
        stored = await self.catalog.in_folder(identifier)
        if stored is None:
            return await self.rows.get(identifier)
        if not may_use(identity, stored):
            return None
        raise NotFoundError(
            f"The assistant {identifier!r} comes from a file. Usage is counted of those in the "
            "database only.",
            assistant=identifier,
        )

    async def _report(self, row: Row, used: Used) -> pb.AssistantUsage:
        usage = pb.AssistantUsage(
            assistant_id=str(row.id),
            name=row.name,
            owner=row.owner,
            organization=row.organization,
            models=[_model(each) for each in sorted(used, key=lambda u: (u.connector, u.model))],
        )
        spent = sum(each.cost_picos for each in used)
        usage.cost_micros = _rounded_up(spent)
        try:
            assistant = contract(
                Stored(row, convert_row(row.id, row.metadata, row.legacy).metadata)
            )
        except (MalformedAssistantError, NewerFormatError):  # it cannot answer either
            return usage
        prices = await self.price_lookup.of(row.organization)
        if (quota := quota_message(assistant, spent, prices)) is not None:
            usage.quota.CopyFrom(quota)
        return usage


async def _used(connection: AsyncConnection, numbers: Sequence[int]) -> Mapping[int, Used]:
    by_assistant: dict[int, list[UsageRow[Any]]] = defaultdict(list)
    for each in await connection.execute(select(usage).where(usage.c.assistant_id.in_(numbers))):
        by_assistant[each.assistant_id].append(each)
    return by_assistant


def _model(used: UsageRow[Any]) -> pb.ModelUsage:
    return pb.ModelUsage(
        model=assistant_pb2.ModelRef(connector=used.connector, model=used.model),
        counts=pb.Counts(**{name: getattr(used, name) for name in COUNTS}),
        unpriced_tokens=used.unpriced_tokens,
        cost_micros=_rounded_up(used.cost_picos),
    )


def _rounded_up(picos: int) -> int:
    return -(-picos // MICROS)
