"""Answers, and how their texts are cut into pieces."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from heddle_runtime.contract.unicode_text import valid_text

Chance = random.Random
Event = dict[str, Any]
_ALPHABET = (
    "a",
    "Wolle ",
    "é",
    "織",
    "😀",
    "\ud83d",
    "\ude00",
    "\n",
    " ",
    '"',
    "\\",
    "data: ",
    "0",
)
_ARGUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"city": "Rome"},
    {"q": 'a "b" 😀', "n": [1, {"x": None}]},
)


@dataclass
class Answer:
    """What the caller must receive."""

    text: str
    reasoning: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    in_bytes: bool = False
    """Whether characters are cut into bytes, and not into the halves of UTF-16."""
    is_cut: bool = False
    is_damaged: bool = False

    def pieces(self, text: str, chance: Chance) -> list[str]:
        """Cut a text, also between the halves or the bytes of a character."""
        encoding, errors, width = "utf-16-le", "surrogatepass", 2
        if self.in_bytes:
            encoding, errors, width = "utf-8", "surrogateescape", 1
        data = text.encode(encoding, errors)
        places = sorted(chance.choices(range(len(data) // width + 1), k=chance.randrange(4)))
        bounds = [0, *places, len(data) // width]
        return [
            data[width * start : width * end].decode(encoding, errors)
            for start, end in pairwise(bounds)
        ]

    def argument_pieces(self, arguments: Any, chance: Chance) -> list[str]:
        """Return the JSON text of arguments in pieces."""
        return self.pieces(json.dumps(arguments, ensure_ascii=chance.random() < 0.5), chance)

    def encoded(self, event: Event) -> bytes:
        """Return the JSON of an event, whose pieces may not be UTF-8."""
        text = json.dumps(event, ensure_ascii=not self.in_bytes)
        return text.encode("utf-8", "surrogateescape")


def answer(chance: Chance) -> Answer:
    """Return an answer with a text, and perhaps with reasoning and calls."""
    in_bytes = chance.random() < 0.3
    words = "".join(chance.choices(_ALPHABET, k=chance.randrange(6)))
    thoughts = "Hm" + "".join(chance.choices(_ALPHABET, k=3)) + "."
    if in_bytes:
        words, thoughts = valid_text(words), valid_text(thoughts)
    calls = [
        (f"f{index}", chance.choice(_ARGUMENTS)) for index in range(chance.choice((0, 0, 0, 1, 2)))
    ]
    return Answer(f"Hi{words}!", thoughts if chance.random() < 0.3 else "", calls, in_bytes)


def odd_text(text: str, chance: Chance) -> Any:
    """Return a text as it is, or as parts of content."""
    part = {"type": "text", "text": text}
    return chance.choice(([part], part, [text], [[part]])) if chance.random() < 0.4 else text


def odd_counts(counts: dict[str, int], chance: Chance) -> dict[str, Any]:
    """Return the counts of tokens with other types."""
    kinds: tuple[Callable[[int], Any], ...] = (
        int,
        float,
        str,
        lambda count: [count],
        lambda _: None,
    )
    kind = chance.choice(kinds)
    return {name: kind(count) for name, count in counts.items()}


def without(members: Event, chance: Chance, *names: str) -> None:
    """Remove some members."""
    for name in names:
        if chance.random() < 0.2:
            members.pop(name, None)


def parts_of(body: bytes, chance: Chance) -> list[bytes]:
    """Return a body in the pieces in which it arrives."""
    bounds = [0, *sorted(chance.choices(range(len(body) + 1), k=chance.randrange(6))), len(body)]
    parts = [body[start:end] for start, end in pairwise(bounds)]
    return [part for part in parts if part]
