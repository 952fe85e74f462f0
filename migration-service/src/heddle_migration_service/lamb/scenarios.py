"""LAMB's tests of assistants, as saved questions."""

import json

from heddle.assistant.v1 import questions_pb2 as pb
from heddle_runtime.errors import InvalidRequestError

from heddle_migration_service.lamb.chats import text_of
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow

_MAX_TITLE = 200


def saved_question(row: LambRow, verdict: str) -> pb.SavedQuestion:
    """Return the question of a scenario, with what is expected of its answer.

    Args:
        row: The scenario.
        verdict: The last judgement of an answer, if there is one. People read it in the title.

    Raises:
        InvalidRequestError: Nothing is asked.
    """
    try:
        messages = json.loads(row.text("messages") or "[]")
    except ValueError:
        messages = []
    if not isinstance(messages, list):
        messages = []
    texts = [text_of(it.get("content")) for it in messages if _is_of_user(it)]
    if not texts or not texts[-1].strip():
        raise InvalidRequestError("It has no question.")
    if len(messages) > 1:
        row.notes.append(f"The last question of its {len(messages)} messages is imported.")
    ending = f" ({verdict})" if verdict else ""
    title = (row.text("title") or "")[: _MAX_TITLE - len(ending)]
    return pb.SavedQuestion(
        title=title + ending, text=texts[-1], expected=row.text("expected_behavior") or ""
    )


async def verdict(tables: LambTables, scenario: str) -> str:
    """Return the last judgement of an answer to a scenario: `good`, `mixed` or `bad`."""
    runs = await tables.matching("assistant_test_runs", "scenario_id", [scenario], ("id",))
    ids = [row.text("id") or "" for row in runs]
    columns = ("verdict", "created_at")
    judged = await tables.matching("assistant_test_evaluations", "test_run_id", ids, columns)
    judged.sort(key=lambda row: row.text("created_at") or "")
    verdicts = [text for row in judged if (text := row.text("verdict"))]
    return verdicts[-1][:20] if verdicts else ""


def _is_of_user(message: object) -> bool:
    return isinstance(message, dict) and message.get("role") == "user"
