"""Copies of questions that teachers read: without names, and only of learners who were told."""

import secrets
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from heddle.conversation.v1 import conversation_pb2 as pb
from heddle.group.v1 import insights_pb2
from heddle_runtime.redaction import redact_personal
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.prepared import Call, Prepared, Values
from sqlalchemy import ColumnElement, and_, delete, false, insert, or_, select

from heddle_assistants.accounts.resolved_settings import limits_of_organizations
from heddle_assistants.database.schema import assistants, learner_questions, organizations
from heddle_assistants.usage.days import iso_day, today

_MAX_CHARACTERS = 4_000
_MAX_QUESTIONS = 200
_Q = learner_questions.c
_INSERT = Prepared(insert(learner_questions), tuple(learner_questions.c.keys()))


class Copy(NamedTuple):
    """The copy of a question, and the pseudonym of who asked it."""

    question: insights_pb2.LearnerQuestion
    learner: str


def copying(counted: Values, response: pb.Response, texts: Iterable[str]) -> list[Call]:
    """Return what copies the question of a response; nothing if it has no text.

    Args:
        counted: What is counted of it.
        response: The response, which has ended.
        texts: Those of the question.
    """
    if not (text := "\n".join(texts).strip()):
        return []
    row = {
        "id": f"question_{secrets.token_hex(12)}",
        "conversation_id": response.conversation,
        "response_id": response.id,
        "text": redact_personal(text[:_MAX_CHARACTERS]),
        **{name: counted[name] for name in ("assistant_id", "day", "learner")},
        **{name: bool(counted[name]) for name in ("without_sources", "failures")},
    }
    return [(_INSERT, row)]


async def listed(database: Database, conditions: Sequence[ColumnElement[bool]]) -> list[Copy]:
    """Return the newest copies that organisations still allow to read."""
    query = select(learner_questions).where(*conditions, await _allowed(database))
    query = query.order_by(_Q.day.desc(), _Q.id).limit(_MAX_QUESTIONS)
    async with database.reading() as connection:
        rows = (await connection.execute(query)).all()
    return [
        Copy(
            insights_pb2.LearnerQuestion(
                id=each.id,
                assistant=str(each.assistant_id),
                day=iso_day(each.day),
                text=each.text,
                without_sources=each.without_sources,
                failed=each.failures,
            ),
            each.learner,
        )
        for each in rows
    ]


async def expire(database: Database) -> None:
    """Delete the copies that organisations no longer allow to read."""
    old = ~await _allowed(database)
    async with database.writing() as connection:
        await connection.execute(delete(learner_questions).where(old))


async def _allowed(database: Database) -> ColumnElement[bool]:
    limits = await limits_of_organizations(database)
    days = {each.organization: each.questions_days for each in limits if each.questions_days}
    return or_(
        false(),
        *(
            and_(
                _Q.day > today() - number,
                _Q.assistant_id.in_(
                    select(assistants.c.id)
                    .join(organizations, organizations.c.id == assistants.c.organization_id)
                    .where(organizations.c.slug == slug)
                ),
            )
            for slug, number in days.items()
        ),
    )
