"""Counts answers and ratings, by assistant, day and pseudonym of the learner."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from heddle.conversation.v1 import conversation_pb2 as pb
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import home
from heddle_runtime.identity.people import Person
from heddle_runtime.storage.database.prepared import Call, Prepared, Values
from sqlalchemy import update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.access import may_edit
from heddle_assistants.audit.people import PeopleInEvents
from heddle_assistants.database.schema import QUESTION_COUNTS, question_days
from heddle_assistants.repository.rows import Rows
from heddle_assistants.store import candidates
from heddle_assistants.usage.days import today

_DAY = 86_400
_RATINGS = {1: "helpful", -1: "unhelpful"}
_Q = question_days.c
_KEYS = ("assistant_id", "day", "learner")


def _adding(insert: Any) -> Prepared:  # noqa: ANN401 - the function of either database
    query = insert(question_days)
    sums = {name: _Q[name] + query.excluded[name] for name in QUESTION_COUNTS}
    query = query.on_conflict_do_update(index_elements=_KEYS, set_=sums)
    return Prepared(query, (*_KEYS, *QUESTION_COUNTS))


_ADD = {"sqlite": _adding(sqlite.insert), "postgresql": _adding(postgresql.insert)}


def adding(connection: AsyncConnection, counts: Values | None) -> list[Call]:
    """Return what adds the counts of `Counting.answer`."""
    return [(_ADD[connection.dialect.name], counts)] if counts else []


class Counting:
    """Counts what callers ask, unless they may edit the assistant."""

    def __init__(self, rows: Rows, people: PeopleInEvents) -> None:
        self._rows = rows
        self._people = people

    async def answer(
        self, request: pb.PutResponseRequest, output: Sequence[Mapping[str, Any]]
    ) -> Values | None:
        """Return the counts of a response that has ended, None if it does not count.

        Args:
            request: The response.
            output: The documents of its items.
        """
        assistant = await self._assistant(request.assistant)
        if assistant is None:
            return None
        failed = request.response.status == "failed"
        timed = request.HasField("first_token")
        return {
            "assistant_id": assistant,
            "day": today(),
            "learner": self._learner(),
            "questions": 1,
            "without_sources": int(not failed and not any(map(_has_source, output))),
            "failures": int(failed),
            "helpful": 0,
            "unhelpful": 0,
            "timed": int(timed),
            "first_token_millis": request.first_token.ToMilliseconds() if timed else 0,
        }

    async def rating(
        self, connection: AsyncConnection, document: bytes, time: int, before: int, after: int
    ) -> None:
        """Count that the rating of an answer changed.

        Args:
            connection: The transaction.
            document: The JSON text of the response.
            time: When the answer was stored, in seconds since 1970.
            before: The rating before, 0 for none.
            after: The rating now.
        """
        assistant = await self._assistant(str(json.loads(document).get("model", "")))
        if before == after or assistant is None:
            return
        changes = {_RATINGS[each]: -1 for each in (before,) if each}
        changes |= {_RATINGS[each]: 1 for each in (after,) if each}
        same = (_Q.assistant_id == assistant) & (_Q.day == time // _DAY)
        query = update(question_days).where(same, _Q.learner == self._learner())
        await connection.execute(query.values({name: _Q[name] + n for name, n in changes.items()}))

    async def _assistant(self, reference: str) -> int | None:
        """Return the number of an assistant whose questions of the caller count."""
        identity = caller().identity
        row = await self._rows.usable(candidates(reference)[0], identity)
        return None if row is None or may_edit(identity, row) else row.id

    def _learner(self) -> str:
        identity = caller().identity
        return self._people.learner(Person(identity.subject, home(identity)))


def _has_source(item: Mapping[str, Any]) -> bool:
    parts = item.get("content")
    return isinstance(parts, list) and any(
        isinstance(part, dict) and bool(part.get("annotations")) for part in parts
    )
