"""Sets of questions about tools of other trades, read from `sets/*.yaml`.

A file holds `tools`, as an author of tools writes them, and `questions` by the tool that is right:
each a pair of the text and the inputs that are right. An input that may be one of several has a
list of them; of one that is `"*"` nothing but its presence counts.
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
"""Sets that nobody looked at while the deciders were made; the others were."""
_ANY = "*"


@dataclass(frozen=True)
class QuestionSet:
    """Tools and questions that belong together."""

    name: str
    tools: Sequence[Candidate]
    questions: Sequence[Labelled]


def question_sets(folder: Path = FOLDER) -> list[QuestionSet]:
    """Return the sets of a folder, those that were seen first."""
    found = [_read(path) for path in sorted(folder.glob("*.yaml"))]
    return sorted(found, key=lambda each: each.name in UNSEEN)


def is_right(inputs: Mapping[str, Any], wanted: Mapping[str, Any], tool: Candidate) -> bool:
    """Return whether inputs are those that are wanted, and nothing was made up beside them."""
    properties = tool.schema.get("properties", {})
    beside = inputs.keys() - wanted.keys()
    return all(_is_one_of(inputs.get(name), value) for name, value in wanted.items()) and all(
        name in properties and inputs[name] == properties[name].get("default") for name in beside
    )


def _is_one_of(given: object, wanted: object) -> bool:
    if wanted == _ANY:
        return given is not None and bool(str(given).strip())
    allowed = wanted if isinstance(wanted, list) else [wanted]
    return any(_plain(given) == _plain(each) for each in allowed)


def _plain(value: object) -> object:
    """Return what is compared: small and capital letters are equal, 1 and true are not."""
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
        Labelled(text, tool, wanted)
        for tool, pairs in written["questions"].items()
        for text, wanted in pairs
    ]
    return QuestionSet(path.stem, tools, questions)
