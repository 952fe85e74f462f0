"""The leaderboard's conversations, and how they end where it runs their calls itself."""

import ast
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any

from bfcl_eval.constants.executable_backend_config import CLASS_FILE_PATH_MAPPING
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call
from integration.bfcl.apis import DATA, methods

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Turn:
    """What a person says, and what is called for it."""

    says: str
    calls: Sequence[str]
    """In Python, as the leaderboard writes them."""
    missing: frozenset[str]
    """Functions that are not offered yet."""


@dataclass(frozen=True)
class Scenario:
    """A conversation."""

    name: str
    apis: list[str]
    initial: Mapping[str, Any]
    turns: Sequence[Turn]

    @property
    def long(self) -> bool:
        return "long_context" in self.name

    def read(self, call: str) -> Call:
        """Return a call that is written in Python as a name and named arguments."""
        node = ast.parse(call, mode="eval").body
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        api = next(api for api in self.apis if any(name == m["name"] for m in methods(api)))
        method = getattr(getattr(import_module(CLASS_FILE_PATH_MAPPING[api]), api), name)
        names = [each for each in inspect.signature(method).parameters if each != "self"]
        given = zip(names, node.args, strict=False)
        arguments = {key: ast.literal_eval(value) for key, value in given}
        named = ((each.arg, each.value) for each in node.keywords)
        return name, arguments | {str(key): ast.literal_eval(value) for key, value in named}

    @cached_property
    def end(self) -> tuple[Mapping[str, Any], list[str]]:
        """The objects and the results of the leaderboard's own run, which it can do only once."""
        results: list[str] = []
        objects: Mapping[str, Any] = {}
        for turn in self.turns:
            told, objects = execute_multi_turn_func_call(
                list(turn.calls), dict(self.initial), self.apis, "own", self.name, self.long
            )
            results += told
        return objects, results


@cache
def scenarios(category: str) -> list[Scenario]:
    """Return the conversations of a category: always the same ones, which know their end."""
    truths = {each["id"]: each["ground_truth"] for each in _lines(f"possible_answer/{category}")}
    return [_scenario(told, truths[told["id"]]) for told in _lines(category)]


def _scenario(told: Mapping[str, Any], truth: Sequence[Sequence[str]]) -> Scenario:
    later = {int(turn): names for turn, names in told.get("missed_function", {}).items()}
    turns = []
    for number, (said, calls) in enumerate(zip(told["question"], truth, strict=True)):
        missing = frozenset(
            name for turn, names in later.items() if turn > number for name in names
        )
        words = "\n".join(message["content"] for message in said) or "Please go on."
        turns.append(Turn(words, calls, missing))
    return Scenario(told["id"], told["involved_classes"], told["initial_config"], turns)


def _lines(name: str) -> list[dict[str, Any]]:
    folder, _, category = name.rpartition("/")
    path = DATA / folder / f"BFCL_v4_multi_turn_{category}.json"
    return [json.loads(line) for line in path.read_text().splitlines()]
