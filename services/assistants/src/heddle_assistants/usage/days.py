"""Sums the usage of days for charts, and deletes it after some time."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Protocol

import structlog
from heddle.assistant.v1 import assistant_pb2
from heddle.usage.v1 import usage_pb2 as pb
from heddle_conversion.identifiers import row_id
from heddle_runtime.contract.validation import UNKNOWN_MEMBER
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import Column, ColumnElement, Row, and_, delete, func, or_, select

from heddle_assistants.access import ASSISTANTS
from heddle_assistants.accounts.model_prices import MICROS
from heddle_assistants.accounts.resolved_settings import limits_of_organizations
from heddle_assistants.database.schema import (
    assistants,
    daily_usage,
    organizations,
    question_days,
)
from heddle_assistants.field_checks import require
from heddle_assistants.usage.entries import COUNTS

log = structlog.get_logger(__name__)
_DAY_SECONDS = 86_400
_MAX_ASSISTANTS = 1000
_DEFAULT_DAYS = timedelta(days=29)
FIRST_DAY = date(1970, 1, 1)
_COLUMNS: dict[int, Sequence[Column[Any]]] = {
    pb.USAGE_DIMENSION_DAY: (daily_usage.c.day,),
    pb.USAGE_DIMENSION_ASSISTANT: (daily_usage.c.assistant_id, assistants.c.name),
    pb.USAGE_DIMENSION_MODEL: (daily_usage.c.connector, daily_usage.c.model),
    pb.USAGE_DIMENSION_ORGANIZATION: (organizations.c.slug,),
}
_SUMS = [func.sum(daily_usage.c[name]).label(name) for name in (*COUNTS, "unpriced_tokens")]


def today() -> int:
    """Return the number of the current day of UTC, counted from 1970."""
    return int(time.time()) // _DAY_SECONDS


def iso_day(number: int) -> str:
    """Return the day of a number of `today`, `YYYY-MM-DD`."""
    return (FIRST_DAY + timedelta(days=number)).isoformat()


@dataclass(frozen=True, slots=True)
class Period:
    """A period: days from the first to the last."""

    first: date
    last: date


class DaysRequest(Protocol):
    """A request that names days."""

    first_day: str
    last_day: str


def period_of(request: DaysRequest) -> Period:
    """Return the days of a request.

    Raises:
        InvalidRequestError: A day cannot be read, or the first one is after the last one.
    """
    last = _day(request.last_day, "last_day") or datetime.now(UTC).date()
    first = _day(request.first_day, "first_day") or max(FIRST_DAY, last - _DEFAULT_DAYS)
    require(first <= last, "first_day", "must not be after last_day")
    return Period(first, last)


class DailyUsage:
    """Reads and deletes the usage of days."""

    def __init__(self, database: Database, days: int) -> None:
        """Set the number of days for which usage is stored."""
        self._database = database
        self._days = days

    async def sums(
        self,
        identity: Identity,
        request: pb.SummarizeUsageRequest,
        period: Period,
        skip: int,
        limit: int,
    ) -> list[pb.UsageSum]:
        """Return sums of the assistants that `identity` may change, ordered by the dimensions.

        Args:
            identity: The caller.
            request: The dimensions and filters.
            period: The days.
            skip: The number of sums to leave out at the beginning.
            limit: The maximum number of results.

        Raises:
            InvalidRequestError: A dimension is not known.
        """
        columns = [column for each in dict.fromkeys(request.by) for column in _columns(each)]
        query = (
            select(*columns, *_SUMS, func.sum(daily_usage.c.cost_picos).label("cost_picos"))
            .select_from(daily_usage)
            .join(assistants, assistants.c.id == daily_usage.c.assistant_id)
            .join(organizations, organizations.c.id == daily_usage.c.organization_id)
            .where(*_conditions(identity, request, period))
            .having(func.count() > 0)
        )
        if columns:
            query = query.group_by(*columns).order_by(*columns)
        if "\0" in request.organization:  # which PostgreSQL neither keeps nor compares
            return []
        async with self._database.reading() as connection:
            rows = await connection.execute(query.limit(limit).offset(skip))
            return [_message(row) for row in rows]

    async def expire(self) -> None:
        """Delete the usage of days before the limit of the service or of the organisation."""
        limits = await limits_of_organizations(self._database)
        deleted = 0
        old = [daily_usage.c.day < today() - self._days]
        old_questions: list[ColumnElement[bool]] = [question_days.c.day < today() - self._days]
        for limit in limits:
            if limit.usage_days:
                query = select(organizations.c.id).where(organizations.c.slug == limit.organization)
                is_of = daily_usage.c.organization_id == query.scalar_subquery()
                old.append(and_(is_of, daily_usage.c.day < today() - limit.usage_days))
                of_organization = select(assistants.c.id).where(
                    assistants.c.organization_id == query.scalar_subquery()
                )
                is_of = question_days.c.assistant_id.in_(of_organization)
                old_questions.append(and_(is_of, question_days.c.day < today() - limit.usage_days))
        async with self._database.writing() as connection:
            for condition in old:
                result = await connection.execute(delete(daily_usage).where(condition))
                deleted += result.rowcount
            await connection.execute(delete(question_days).where(or_(*old_questions)))
        if deleted:
            log.info("old daily usage deleted", rows=deleted)


def _columns(dimension: int) -> Sequence[Column[Any]]:
    require(dimension in _COLUMNS, "by", UNKNOWN_MEMBER)
    return _COLUMNS[dimension]


def _conditions(
    identity: Identity, request: pb.SummarizeUsageRequest, period: Period
) -> list[ColumnElement[bool]]:
    first, last = (period.first - FIRST_DAY).days, (period.last - FIRST_DAY).days
    conditions = [daily_usage.c.day.between(first, last), ASSISTANTS.editable(identity)]
    identifiers = list(request.assistant_ids)
    if request.assistant_id:
        identifiers.append(request.assistant_id)
    fits = len(identifiers) <= _MAX_ASSISTANTS
    require(fits, "assistant_ids", f"must be at most {_MAX_ASSISTANTS}")
    if identifiers:
        numbers = {row_id(each) or 0 for each in identifiers}
        conditions.append(daily_usage.c.assistant_id.in_(numbers))
    if request.organization:
        conditions.append(organizations.c.slug == request.organization)
    return conditions


def _message(row: Row[*tuple[Any, ...]]) -> pb.UsageSum:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    message = pb.UsageSum(
        counts=pb.Counts(**{name: int(values[name]) for name in COUNTS}),
        unpriced_tokens=int(values["unpriced_tokens"]),
        assistant_id=str(values.get("assistant_id", "")),
        assistant_name=values.get("name", ""),
        organization=values.get("slug", ""),
    )
    cost = -(-int(values["cost_picos"]) // MICROS)
    if cost or not message.unpriced_tokens:
        message.cost_micros = cost
    if "day" in values:
        message.day = iso_day(values["day"])
    if "model" in values:
        model = assistant_pb2.ModelRef(connector=values["connector"], model=values["model"])
        message.model.CopyFrom(model)
    return message


def _day(text: str, field: str) -> date | None:
    if not text:
        return None
    day = FIRST_DAY - timedelta(days=1)
    with suppress(ValueError):
        day = date.fromisoformat(text)
    is_day = day >= FIRST_DAY and len(text) == len("YYYY-MM-DD")
    require(is_day, field, "must be a day since 1970, YYYY-MM-DD")
    return day
