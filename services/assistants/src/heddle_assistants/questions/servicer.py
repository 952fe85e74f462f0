"""`heddle.assistant.v1.QuestionService`: stores the saved questions of assistants."""

import json
from collections.abc import Sequence

from heddle.assistant.v1 import questions_pb2 as pb
from heddle.assistant.v1 import questions_pb2_grpc as pb_grpc
from heddle_runtime.contract.audit import Change
from heddle_runtime.errors import ConflictError, InvalidRequestError, Violation
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.inserting import insertion, upsert
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.log import AuditLog
from heddle_assistants.catalog.all_assistants import Catalog
from heddle_assistants.database.assistant_row import Row
from heddle_assistants.database.schema import saved_questions
from heddle_assistants.repository.writer import held_row

MAX_QUESTIONS = 100
MAX_TEXT = 10_000
MAX_TITLE = 200
_LENGTHS = {"title": MAX_TITLE, "text": MAX_TEXT, "expected": MAX_TEXT}


class QuestionServicer(pb_grpc.QuestionServiceServicer):
    """Reads and replaces questions for those who may edit the assistant."""

    def __init__(self, database: Database, audit: AuditLog, catalog: Catalog) -> None:
        self._database = database
        self._audit = audit
        self._catalog = catalog

    async def GetQuestions(
        self, request: pb.GetQuestionsRequest, context: Context
    ) -> pb.GetQuestionsResponse:
        """Return the questions of an assistant in the database that the caller may edit."""
        row = await self._catalog.editable(request.id, caller().identity)
        async with self._database.reading() as connection:
            items, revision = await _stored(connection, row)
        return pb.GetQuestionsResponse(questions=_messages(items), etag=_etag(row, revision))

    async def UpdateQuestions(
        self, request: pb.UpdateQuestionsRequest, context: Context
    ) -> pb.UpdateQuestionsResponse:
        """Replace the questions of an assistant; the same questions change nothing.

        Raises:
            ConflictError: They changed since they were read.
            InvalidRequestError: There are too many, or one is empty or too long.
            NotFoundError: There is none in the database that the caller may edit.
        """
        check(request.questions)
        identity = caller().identity
        await self._catalog.editable(request.id, identity)
        items = [[getattr(each, name) for name in _LENGTHS] for each in request.questions]
        async with self._audit.writing() as (connection, changes):
            row = await held_row(connection, request.id, identity, "")
            before, revision = await _stored(connection, row)
            if request.etag and request.etag != _etag(row, revision):
                message = "The questions changed since they were read. Read them again."
                raise ConflictError(message, assistant=request.id)
            if items != before:
                revision += 1
                values = {"revision": revision, "questions": json.dumps(items)}
                query = insertion(connection, saved_questions).values(assistant_id=row.id, **values)
                await connection.execute(upsert(query))
                members = {"questions": before}, {"questions": items}
                changes.append(Change("questions.update", str(row.id), row.organization, *members))
        return pb.UpdateQuestionsResponse(questions=_messages(items), etag=_etag(row, revision))


def check(questions: Sequence[pb.SavedQuestion]) -> None:
    """Refuse questions that are too many, empty or too long.

    Raises:
        InvalidRequestError: They are; the violations name each.
    """
    violations = []
    if len(questions) > MAX_QUESTIONS:
        violations.append(Violation("questions", f"must have at most {MAX_QUESTIONS} items"))
    for index, question in enumerate(questions):
        place = f"questions[{index}]"
        if not question.text.strip():
            violations.append(Violation(f"{place}.text", "must not be empty"))
        for name, most in _LENGTHS.items():
            if len(getattr(question, name)) > most:
                what = f"must have at most {most} characters"
                violations.append(Violation(f"{place}.{name}", what))
    if violations:
        raise InvalidRequestError("The questions are not valid.", violations)


async def _stored(connection: AsyncConnection, row: Row) -> tuple[list[list[str]], int]:
    """Return the members of each question in the order of `_LENGTHS`, and the revision."""
    query = select(saved_questions).where(saved_questions.c.assistant_id == row.id)
    if (record := (await connection.execute(query)).one_or_none()) is None:
        return [], 0
    # Older rows lack the last member.
    items = [[*each, ""][: len(_LENGTHS)] for each in json.loads(record.questions or "[]")]
    return items, record.revision


def _etag(row: Row, revision: int) -> str:
    """Return a text that changes with every change of the questions."""
    return f"{row.id}-questions-{revision}"


def _messages(items: list[list[str]]) -> list[pb.SavedQuestion]:
    return [pb.SavedQuestion(**dict(zip(_LENGTHS, each, strict=True))) for each in items]
