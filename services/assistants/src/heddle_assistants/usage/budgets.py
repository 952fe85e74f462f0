"""The quotas of assistants, and the part that is spent."""

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion import parse
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import bindparam, func, select

from heddle_assistants.accounts.model_prices import MICROS, Prices, price_of
from heddle_assistants.database.schema import usage
from heddle_assistants.repository.quotas import MEMBER, quota_of
from heddle_assistants.usage.price_lookup import PriceLookup


class Budgets:
    """Finds the quotas of assistants. Those without a quota cost nothing here."""

    def __init__(self, database: Database, price_lookup: PriceLookup) -> None:
        self._price_lookup = price_lookup
        spent = select(func.sum(usage.c.cost_picos))
        self._spent = database.row_reader(spent.where(usage.c.assistant_id == bindparam("id")))

    async def of(self, assistant: pb.Assistant) -> pb.Quota | None:
        """Return the quota of an assistant in the database, None if it has none."""
        if f'"{MEMBER}"' not in assistant.extra_json:
            return None
        row = await self._spent(int(assistant.id))
        spent = int(row[0] or 0) if row else 0
        return quota_message(assistant, spent, await self._price_lookup.of(assistant.organization))


def quota_message(assistant: pb.Assistant, spent: int, prices: Prices) -> pb.Quota | None:
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
