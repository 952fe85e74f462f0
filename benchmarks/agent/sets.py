"""Sets of questions about tools of other trades, from `sets/*.yaml`.

A file contains `tools`, as an author of tools writes them, and `questions` by their right tool:
each a pair of the text and the right arguments. A list stands for alternatives, and `"*"` for any
value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from heddle_orchestrator.agent.decision import Candidate

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
    allowed = expected if isinstance(expected, list) else [expected]
    return any(_plain(value) == _plain(each) for each in allowed)


def _plain(value: object) -> object:
    """Return a value for comparison. Upper and lower case are equal, 1 and true are not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value).casefold().strip(" .!?")
    return float(value)


def _read(path: Path) -> QuestionSet:
    written = yaml.safe_load(path.read_text())
    tools = [
        candidate(each["name"], each["description"], each["parameters"], each.get("examples", ()))
        for each in written["tools"]
    ]
    questions = [
        Labelled(text, tool, arguments)
        for tool, pairs in written["questions"].items()
        for text, arguments in pairs
    ]
    return QuestionSet(path.stem, tools, questions)
