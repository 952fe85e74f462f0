"""Reserves the estimated costs of answers before the model is asked."""

import time
from datetime import timedelta

from heddle.assistant.v1 import assistant_pb2
from heddle.usage.v1 import usage_pb2 as pb
from heddle_conversion.identifiers import row_id
from heddle_runtime.errors import (
    QUOTA_SPENT,
    InvalidRequestError,
    QuotaExceededError,
    ResourceExhaustedError,
    Violation,
)
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import Select, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.model_prices import MICROS, cost_of, price_of
from heddle_assistants.database.schema import (
    assistants,
    deletion_of_reservations,
    organizations,
    usage,
    usage_reservations,
)
from heddle_assistants.repository.quotas import stored_quota
from heddle_assistants.usage.price_lookup import PriceLookup
from heddle_assistants.usage.recording import MOST_PICOS

MAX_LIFETIME = timedelta(days=1)
MAX_ID_CHARACTERS = 64
MAX_TOKENS = 10**12
_RETRY_SECONDS = 2.0
_NEAR = 10
"""The part of a quota that is left when it nears its end: a tenth."""
_RESERVED = (
    "Answers that are under way may use up the quota of the assistant. Try again when they are "
    "complete."
)
_COLUMNS = usage_reservations.c


class Reservations:
    """Reserves costs in quotas. Replicas of the service may share the database."""

    def __init__(self, database: Database, price_lookup: PriceLookup) -> None:
        self._database = database
        self._price_lookup = price_lookup

    async def reserve(self, request: pb.ReserveUsageRequest) -> bool:
        """Reserve the estimated costs of an answer; nothing for an assistant without a quota.

        Returns whether the quota nears its end.

        Raises:
            InvalidRequestError: A field is wrong; the violation says what.
            QuotaExceededError: The quota is used up.
            ResourceExhaustedError: Other answers have reserved what is left.
        """
        _check(request)
        number = row_id(request.assistant_id)
        if number is None:  # of a file, or of no assistant
            return False
        async with self._database.reading() as connection:
            row = (await connection.execute(_assistant(number))).one_or_none()
        quota = stored_quota(row[1]) if row else None
        if row is None or quota is None:
            return False
        cost = await self._cost(request, row[0])
        async with self._database.writing() as connection:
            return await _reserve(connection, number, quota, cost, request)

    async def _cost(self, request: pb.ReserveUsageRequest, organization: str) -> int:
        model = request.model
        prices = await self._price_lookup.of(organization)
        price = price_of(prices, model.connector, model.model)
        if price is None:
            return 0
        counts = pb.Counts(
            prompt_tokens=request.prompt_tokens, completion_tokens=request.completion_tokens
        )
        return min(cost_of(counts, price), MOST_PICOS)


async def _reserve(
    connection: AsyncConnection,
    number: int,
    quota: assistant_pb2.Quota,
    cost: int,
    request: pb.ReserveUsageRequest,
) -> bool:
    # Reservations of one assistant take turns, so that two do not count on the same rest. SQLite
    # needs no such words: a writer is alone.
    turn = select(assistants.c.id).where(assistants.c.id == number)
    await connection.execute(turn.with_for_update(key_share=True))
    now = int(time.time())
    ended = (_COLUMNS.expires_at <= now) | (_COLUMNS.reservation == request.reservation_id)
    await connection.execute(deletion_of_reservations.where(_COLUMNS.assistant_id == number, ended))
    # One statement: usage that is recorded meanwhile counts on one side, as spent or as reserved.
    spent, reserved = (await connection.execute(_committed(number))).one()
    left = quota.limit_micros * MICROS - int(spent or 0)
    if left <= 0:
        raise QuotaExceededError(quota.problem or QUOTA_SPENT)
    if reserved is not None and int(reserved) + cost > left:
        raise ResourceExhaustedError(_RESERVED, retry_after=_RETRY_SECONDS)
    values = {
        "reservation": request.reservation_id,
        "assistant_id": number,
        "cost_picos": cost,
        "expires_at": now + max(1, int(request.lifetime.ToTimedelta().total_seconds())),
    }
    await connection.execute(insert(usage_reservations).values(**values))
    return left * _NEAR < quota.limit_micros * MICROS


def _assistant(number: int) -> Select[str, str | None]:
    query = select(organizations.c.slug, assistants.c.metadata)
    joined = query.join(organizations, assistants.c.organization_id == organizations.c.id)
    return joined.where(assistants.c.id == number)


def _committed(number: int) -> Select[int | None, int | None]:
    """Return the query for what an assistant has spent and what it has reserved, in this order.

    Each is None if there is nothing.
    """
    spent = select(func.sum(usage.c.cost_picos)).where(usage.c.assistant_id == number)
    reserved = select(func.sum(_COLUMNS.cost_picos)).where(_COLUMNS.assistant_id == number)
    return select(spent.scalar_subquery(), reserved.scalar_subquery())


def _check(request: pb.ReserveUsageRequest) -> None:
    violations = []
    if not 1 <= len(request.reservation_id) <= MAX_ID_CHARACTERS or "\0" in request.reservation_id:
        what = f"must have 1 to {MAX_ID_CHARACTERS} characters, none of them NUL"
        violations.append(Violation("reservation_id", what))
    violations += [
        Violation(name, f"must be from 0 to {MAX_TOKENS}")
        for name in ("prompt_tokens", "completion_tokens")
        if not 0 <= getattr(request, name) <= MAX_TOKENS
    ]
    if not timedelta(0) < request.lifetime.ToTimedelta() <= MAX_LIFETIME:
        violations.append(Violation("lifetime", "must be above 0 and at most a day"))
    if violations:
        raise InvalidRequestError("The reservation is not valid.", violations)
