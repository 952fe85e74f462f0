"""One input of a tool: what it takes, how examples use it, and what of a request it could be."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heddle_orchestrator.agent.decision import Candidate
from heddle_orchestrator.agent.values import plain, values_in
from heddle_orchestrator.agent.words import listed, stems, telling, words

LONGEST_READ = 2_000
"""Characters of a request in which inputs are looked for."""
_SWITCHES = listed("on enabled active power state")
_OFF = listed("off disable disabled")


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a tool, and how its examples use it."""

    name: str
    schema: Mapping[str, Any]
    needed: bool
    shown: Sequence[tuple[str, Any]]
    """Requests of examples with its value."""
    hints: Sequence[tuple[Any, frozenset[str]]]
    """Values of examples, and the beginnings of words of their requests that no input is copied
    from and that no example without the input has."""

    @property
    def numeric(self) -> bool:
        """Whether it is a number that is no choice."""
        return self.schema.get("type") in ("integer", "number") and "enum" not in self.schema

    @property
    def copied(self) -> bool:
        """Whether the examples, if there are any, take it out of their requests."""
        return all(
            str(value).casefold() in asked.casefold()
            or value in (values_in(asked, self.name, self.schema) or ())
            for asked, value in self.shown
        )

    @property
    def called(self) -> frozenset[str]:
        """The words of its name."""
        return frozenset(words(self.name.replace("_", " ")))

    def values(self, prompt: str) -> list[Any] | None:
        """Return what of a request it can be; None if any text can."""
        return values_in(prompt[:LONGEST_READ], self.name, self.schema)

    def hinted(self, prompt: str) -> list[Any]:
        """Return the values that go with words of the request in the tool's examples."""
        said = stems(telling(prompt))
        return list(dict.fromkeys(value for value, words_ in self.hints if words_ & said))

    def spoken_of(self, prompt: str) -> bool:
        """Return whether a request names it."""
        said = words(prompt)
        if self.schema.get("type") == "boolean" and self.called & _SWITCHES:
            return bool(_OFF & set(said))
        return bool(stems(self.called) & stems(said))


def inputs_of(tool: Candidate) -> list[Input]:
    """Return the inputs of a tool, in the order of its schema."""
    needed = tool.schema.get("required", ())
    examples = [(asked, members(text)) for asked, text in tool.examples]
    return [
        Input(
            name,
            plain(schema, tool.schema),
            name in needed,
            [(asked, shown[name]) for asked, shown in examples if name in shown],
            _hints(name, examples),
        )
        for name, schema in tool.schema.get("properties", {}).items()
    ]


def members(text: str) -> dict[str, Any]:
    """Return the members of a JSON object; none if the text is anything else."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def evidence(prompt: str, tool: Candidate) -> float:
    """Return what speaks for a tool in what a request holds for its inputs.

    A choice of it that the request mentions counts 1, a number, a day or the like that it needs
    one half, and one that is missing -1.
    """
    total = 0.0
    for each in inputs_of(tool):
        values = each.values(prompt)
        if values is None or each.schema.get("type") == "boolean":
            continue
        if "enum" in each.schema:
            total += bool(values)
        elif each.needed:
            total += 0.5 if values else -1.0
    return total


def _hints(
    name: str, examples: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[tuple[Any, frozenset[str]]]:
    without = [asked for asked, shown in examples if name not in shown]
    elsewhere = stems(word for asked in without for word in telling(asked))
    return [
        (
            shown[name],
            stems(telling(asked)) - elsewhere - stems(words(" ".join(map(str, shown.values())))),
        )
        for asked, shown in examples
        if name in shown
    ]
