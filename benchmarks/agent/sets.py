"""Sets of questions about tools of other trades, from `sets/*.yaml`.

A file contains `tools`, as an author of tools writes them, and `questions` by their right tool:
each a pair of the text and the right arguments. A list instead of the text is a conversation: the
user's and the assistant's turns alternately, the question last. In arguments, a list stands for
alternatives, `"*"` for any value, and `words` for words that a text contains, in any order.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from heddle_orchestrator.agent.decision import Candidate
from heddle_orchestrator.agent.word_matching import words

from benchmarks.agent.questions import Labelled
from benchmarks.agent.tools import candidate

FOLDER = Path(__file__).parent / "sets"
UNSEEN = ("office", "travel", "shop", "home", "servers", "library", "health", "cinema", "garage")
"""Sets that nobody read while the routers were developed."""
_ANY = "*"


@dataclass(frozen=True)
class QuestionSet:
    """Tools and questions that belong together."""

    name: str
    tools: Sequence[Candidate]
    questions: Sequence[Labelled]


def question_sets(folder: Path = FOLDER) -> list[QuestionSet]:
    """Return the sets of a folder. Those in `UNSEEN` come last."""
    sets = [_read(path) for path in sorted(folder.glob("*.yaml"))]
    return sorted(sets, key=lambda each: each.name in UNSEEN)


def is_right(inputs: Mapping[str, Any], expected: Mapping[str, Any], tool: Candidate) -> bool:
    """Return whether all arguments are right, and there are no others except defaults."""
    properties = tool.schema.get("properties", {})
    others = inputs.keys() - expected.keys()
    return all(_is_one_of(inputs.get(name), value) for name, value in expected.items()) and all(
        name in properties and inputs[name] == properties[name].get("default") for name in others
    )


def _is_one_of(value: object, expected: object) -> bool:
    if expected == _ANY:
        return value is not None and bool(str(value).strip())
    if isinstance(expected, Mapping):
        return {*words(" ".join(expected["words"]))} <= {*words(str(value))}
    allowed = expected if isinstance(expected, list) else [expected]
    return any(_plain(value) == _plain(each) for each in allowed)


def _plain(value: object) -> object:
    """Return a value for comparison. Upper and lower case are equal, 1 and true are not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value).casefold().strip(" .!?")
    return float(value)


def foreign_words(inputs: Mapping[str, Any], conversation: str, tool: Candidate) -> list[str]:
    """Return the words of text arguments that neither the conversation nor the schema contains.

    Dates and other texts of a format count as values: their form is the schema's.
    """
    known = {*words(conversation), *words(json.dumps(tool.schema, ensure_ascii=False))}
    properties = tool.schema.get("properties", {})
    values = [value for name, value in inputs.items() if "format" not in properties.get(name, {})]
    return [word for text in _texts(values) for word in words(text) if word not in known]


def _texts(value: object) -> Iterator[str]:
    """Yield all texts in a JSON value."""
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _texts(each)
        case dict():
            yield from _texts([*value.values()])
        case _:
            return


def _read(path: Path) -> QuestionSet:
    written = yaml.safe_load(path.read_text())
    tools = [
        candidate(each["name"], each["description"], each["parameters"], each.get("examples", ()))
        for each in written["tools"]
    ]
    questions = [
        Labelled(turns[-1], tool, arguments, turns[:-1])
        for tool, pairs in written["questions"].items()
        for text, arguments in pairs
        for turns in [text if isinstance(text, list) else [text]]
    ]
    return QuestionSet(path.stem, tools, questions)
