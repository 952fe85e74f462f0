"""Stores the saved questions of assistants."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from heddle.assistant.v1 import questions_pb2 as pb
from heddle_runtime.contract.audit import Change
from heddle_runtime.errors import ConflictError, InvalidRequestError, Violation
from heddle_runtime.identity.callers import Identity
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
_MOST = {"title": MAX_TITLE, "text": MAX_TEXT, "expected": MAX_TEXT}


class Questions(NamedTuple):
    """The questions of an assistant."""

    assistant: int
    items: list[list[str]]
    """The title, the text and what is expected of each. Older rows lack the last."""
    revision: int

    @property
    def etag(self) -> str:
        """A text that changes with every change of the questions."""
        return f"{self.assistant}-questions-{self.revision}"


class QuestionStore:
    """Reads and replaces questions for those who may edit the assistant."""

    def __init__(self, database: Database, audit: AuditLog, catalog: Catalog) -> None:
        self._database = database
        self._audit = audit
        self._catalog = catalog

    async def get(self, identifier: str, identity: Identity) -> Questions:
        """Return the questions of an assistant.

        Raises:
            NotFoundError: There is none in the database that `identity` may edit.
        """
        row = await self._catalog.editable(identifier, identity)
        async with self._database.reading() as connection:
            return await _stored(connection, row)

    async def replace(
        self, identifier: str, identity: Identity, etag: str, questions: Sequence[pb.SavedQuestion]
    ) -> Questions:
        """Replace the questions of an assistant; the same questions change nothing.

        Raises:
            ConflictError: They changed since they were read.
            InvalidRequestError: There are too many, or one is empty or too long.
            NotFoundError: There is none in the database that `identity` may edit.
        """
        check(questions)
        await self._catalog.editable(identifier, identity)
        items = [[each.title, each.text, each.expected] for each in questions]
        async with self._audit.writing() as (connection, changes):
            row = await held_row(connection, identifier, identity, "")
            before = await _stored(connection, row)
            if etag and etag != before.etag:
                message = "The questions changed since they were read. Read them again."
                raise ConflictError(message, assistant=identifier)
            if items == before.items:
                return before
            values = {"revision": before.revision + 1, "questions": json.dumps(items)}
            query = insertion(connection, saved_questions).values(assistant_id=row.id, **values)
            await connection.execute(upsert(query))
            members = {"questions": before.items}, {"questions": items}
            changes.append(Change("questions.update", str(row.id), row.organization, *members))
        return Questions(row.id, items, before.revision + 1)


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
        for name, most in _MOST.items():
            if len(getattr(question, name)) > most:
                what = f"must have at most {most} characters"
                violations.append(Violation(f"{place}.{name}", what))
    if violations:
        raise InvalidRequestError("The questions are not valid.", violations)


async def _stored(connection: AsyncConnection, row: Row) -> Questions:
    query = select(saved_questions).where(saved_questions.c.assistant_id == row.id)
    record = (await connection.execute(query)).one_or_none()
    if record is None:
        return Questions(row.id, [], 0)
    items = [[*each, ""][: len(_MOST)] for each in json.loads(record.questions or "[]")]
    return Questions(row.id, items, record.revision)
