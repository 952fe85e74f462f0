"""`heddle.group.v1.InsightService`."""

from collections.abc import Sequence
from typing import Any

from heddle.group.v1 import insights_pb2 as pb
from heddle.group.v1 import insights_pb2_grpc as pb_grpc
from heddle_conversion.identifiers import row_id
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.callers import home
from heddle_runtime.identity.people import Person
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, Row, Table, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.resolved_settings import limits_of_organizations
from heddle_assistants.audit.people import PeopleInEvents
from heddle_assistants.catalog.all_assistants import Catalog
from heddle_assistants.database.schema import (
    QUESTION_COUNTS,
    group_assistants,
    group_members,
    learner_questions,
    question_days,
)
from heddle_assistants.groups.rows import managed, read_group
from heddle_assistants.insights.copies import listed
from heddle_assistants.insights.similar import LEAST_LEARNERS, similar
from heddle_assistants.other_services import OtherServices
from heddle_assistants.usage.days import FIRST_DAY, iso_day, period_of

_Q, _M = question_days.c, group_members.c
_Request = pb.SummarizeQuestionsRequest | pb.ListQuestionsRequest
_SUMS = [func.sum(_Q[name]).label(name) for name in QUESTION_COUNTS]


class InsightServicer(pb_grpc.InsightServiceServicer):
    """Sums up the questions of learners."""

    def __init__(
        self,
        database: Database,
        catalog: Catalog,
        people: PeopleInEvents,
        services: OtherServices,
    ) -> None:
        self._database = database
        self._catalog = catalog
        self._people = people
        self._services = services

    async def SummarizeQuestions(
        self, request: pb.SummarizeQuestionsRequest, context: Context
    ) -> pb.SummarizeQuestionsResponse:
        """Count the questions to an assistant or of a group."""
        return await self._summary(await self._which(request, question_days))

    async def ListQuestions(
        self, request: pb.ListQuestionsRequest, context: Context
    ) -> pb.ListQuestionsResponse:
        """List the questions to an assistant or of a group."""
        which = await self._which(request, learner_questions)
        async with self._database.reading() as connection:
            enough = await _learners(connection, learner_questions, which) >= LEAST_LEARNERS
        copies = await listed(self._database, which) if enough else []
        slug = home(caller().identity)
        limits = await limits_of_organizations(self._database)
        allowed = any(each.questions_days for each in limits if each.organization == slug)
        return pb.ListQuestionsResponse(
            allowed=allowed,
            questions=[each.question for each in copies],
            similar=await similar(self._services, copies, context),
        )

    async def _which(self, request: _Request, table: Table) -> list[ColumnElement[bool]]:
        """Return the conditions of the rows that a request asks for."""
        period = period_of(request)
        first, last = ((each - FIRST_DAY).days for each in (period.first, period.last))
        which: list[ColumnElement[bool]] = [table.c.day.between(first, last)]
        if request.group:
            return [*which, *await self._of_group(request, table)]
        row = await self._catalog.editable(request.assistant, caller().identity)
        return [*which, table.c.assistant_id == row.id]

    async def _of_group(self, request: _Request, table: Table) -> list[ColumnElement[bool]]:
        """Return the conditions of the questions of a group's learners to its assistants."""
        async with self._database.reading() as connection:
            row = await read_group(connection, request.group, managed(caller().identity))
            query = select(_M.email).where(_M.group_id == row.id, ~_M.is_teacher)
            emails = await connection.scalars(query)
        learners = [self._people.learner(Person(each, row.slug)) for each in emails]
        published = select(group_assistants.c.assistant_id).where(
            group_assistants.c.group_id == row.id
        )
        which: list[ColumnElement[bool]] = [table.c.assistant_id.in_(published)]
        which.append(table.c.learner.in_(learners))
        if request.assistant:
            which.append(table.c.assistant_id == (row_id(request.assistant) or 0))
        return which

    async def _summary(
        self, conditions: Sequence[ColumnElement[bool]]
    ) -> pb.SummarizeQuestionsResponse:
        sums = select(*_SUMS).where(*conditions)
        by_day = select(_Q.day, *_SUMS).where(*conditions).group_by(_Q.day).order_by(_Q.day)
        async with self._database.reading() as connection:
            learners = await _learners(connection, question_days, conditions)
            if learners < LEAST_LEARNERS:
                return pb.SummarizeQuestionsResponse(too_few=True, total=pb.QuestionCounts())
            total = (await connection.execute(sums)).one()
            days = (await connection.execute(by_day)).all()
        return pb.SummarizeQuestionsResponse(
            learners=learners,
            total=_counts(total),
            days=[pb.QuestionDay(day=iso_day(each.day), counts=_counts(each)) for each in days],
        )


async def _learners(
    connection: AsyncConnection, table: Table, conditions: Sequence[ColumnElement[bool]]
) -> int:
    query = select(func.count(func.distinct(table.c.learner))).where(*conditions)
    return await connection.scalar(query) or 0


def _counts(row: Row[*tuple[Any, ...]]) -> pb.QuestionCounts:
    return pb.QuestionCounts(
        questions=int(row.questions),
        without_sources=int(row.without_sources),
        failures=int(row.failures),
        helpful=int(row.helpful),
        unhelpful=int(row.unhelpful),
        first_token_millis=int(row.first_token_millis) // max(int(row.timed), 1),
    )
