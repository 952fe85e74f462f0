"""The questions of an evaluation: a file of JSON Lines."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heddle_runtime.errors import InvalidRequestError

_MEMBERS = {"question", "facts", "sources", "answerable"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what its answer must have."""

    text: str
    facts: Sequence[Sequence[str]] = ()
    """Each with its alternatives, of which the answer states one."""
    sources: Sequence[str] = ()
    """Names or addresses, or parts of them."""
    is_answerable: bool = True
    """Whether the assistant must answer; else it must decline."""


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a file. The error for a line that is none names it."""
    lines = enumerate(path.read_text(errors="replace").splitlines(), 1)
    rows = [_question(line, f"{path}, line {number}") for number, line in lines if line.strip()]
    if not rows:
        raise InvalidRequestError(f"{path} has no questions.")
    return rows


def _question(line: str, place: str) -> Question:
    try:
        members = json.loads(line)
    except ValueError as error:
        raise InvalidRequestError(f"{place} is not JSON: {error}.") from error
    if not isinstance(members, dict) or not isinstance(members.get("question"), str):
        raise InvalidRequestError(f"{place} is not an object with the text `question`.")
    if unknown := members.keys() - _MEMBERS:
        raise InvalidRequestError(f"{place} has the unknown member {min(unknown)!r}.")
    answerable = members.get("answerable", True)
    facts, sources = members.get("facts", []), members.get("sources", [])
    if isinstance(facts, list):
        facts = [[each] if isinstance(each, str) else each for each in facts]
    if not (isinstance(facts, list) and all(map(_texts, [*facts, sources]))):
        raise InvalidRequestError(
            f"{place}: `sources` and each of `facts` are texts, or lists of texts."
        )
    if not isinstance(answerable, bool) or (not answerable and (facts or sources)):
        raise InvalidRequestError(f"{place}: `answerable` is false without facts and sources.")
    return Question(members["question"], facts, sources, answerable)


def _texts(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    return isinstance(value, list) and all(isinstance(each, str) and each for each in value)
