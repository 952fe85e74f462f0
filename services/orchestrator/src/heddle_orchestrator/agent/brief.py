"""What was found, in the form in which models read it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from heddle_orchestrator.agent.environment import Environment, members
from heddle_orchestrator.agent.state import State

_TEXTS = ("interpretation", "summary", "text", "passage", "content", "snippet", "answer", "result")
_MANUALS = ("manual", "title", "document", "collection", "source", "uri", "url")
_LONGEST_INPUTS = 200


@dataclass(frozen=True, slots=True)
class Cited:
    """Something that an answer rests on."""

    page: str
    """Empty if it has none."""
    manual: str

    def told(self) -> dict[str, Any]:
        """Return the source for frontends; its page is a number if it can be."""
        page: str | int | None = int(self.page) if self.page.isdecimal() else self.page or None
        return {"page": page, "manual": self.manual}


def passages(objects: Iterable[str], most_chars: int) -> str:
    """Return objects as numbered passages, each with its manual and page, cut where it is much.

    What has to be cut is cut at the end of the longest passages, so that each is there.
    """
    made = [(_heading(found), _text(found)) for found in map(members, objects)]
    room = _room([len(text) for _, text in made], most_chars)
    return "\n\n".join(
        f"[{number}]{heading} {text if len(text) <= room else text[:room] + '…'}"
        for number, (heading, text) in enumerate(made, start=1)
    )


def sources(objects: Iterable[str]) -> tuple[Cited, ...]:
    """Return what objects come from, each page of a manual once, in the order of the objects."""
    cited: dict[Cited, None] = {}
    for found in map(members, objects):
        inner = found.get("sources")
        for each in inner if isinstance(inner, list) else [found]:
            if isinstance(each, dict) and (source := _cited(each)):
                cited.setdefault(source)
    return tuple(cited)


def progress(state: State, most_chars: int) -> str:
    """Return what was tried and found, for whoever decides what to do next."""
    environment = state.environment
    lines = [
        f"{past.tool}({json.dumps(past.inputs, ensure_ascii=False)[:_LONGEST_INPUTS]}): "
        f"{'failed' if past.failed else f'{past.new_objects} new results'}"
        for past in state.history
    ]
    lines += [f"{found.tool} says: {found.message}" for found in environment.found if found.message]
    lines += errors(environment)
    if not environment.is_empty():
        lines.append("Found so far:\n" + passages(environment.objects(), most_chars))
    return "\n".join(lines)


def errors(environment: Environment) -> list[str]:
    """Return one line for each tool whose last run failed."""
    return [
        f"{tool} failed: {error.message}" + (f" {error.suggestion}." if error.suggestion else "")
        for tool, error in environment.errors.items()
    ]


def _heading(found: Mapping[str, Any]) -> str:
    source = _cited(found)
    if source is None:
        return ""
    return f" ({source.manual}, page {source.page})" if source.page else f" ({source.manual})"


def _cited(found: Mapping[str, Any]) -> Cited | None:
    manual = next((found[name] for name in _MANUALS if isinstance(found.get(name), str)), "")
    page = found.get("page")
    told = str(page) if isinstance(page, (int, str)) and not isinstance(page, bool) else ""
    return Cited(told if told != "0" else "", manual) if manual else None


def _text(found: Mapping[str, Any]) -> str:
    texts = [found[name] for name in _TEXTS if isinstance(found.get(name), str) and found[name]]
    return "\n".join(texts) if texts else json.dumps(found, ensure_ascii=False)


def _room(lengths: list[int], most: int) -> int:
    """Return how long a passage may be so that all together have at most `most` characters."""
    left, room = most, most
    for number, length in enumerate(sorted(lengths)):
        room = left // (len(lengths) - number)
        if length > room:
            return max(room, 1)
        left -= length
    return room
