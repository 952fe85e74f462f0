"""Formats the results of a run as text for models."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from heddle_runtime.contract.json_text import members

from heddle_orchestrator.agent.environment import Environment
from heddle_orchestrator.agent.state import State

_TEXTS = ("interpretation", "summary", "text", "passage", "content", "snippet", "answer", "result")
_MANUALS = ("manual", "title", "document", "collection", "source", "uri", "url")
_MAX_INPUTS_CHARS = 200


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of an answer."""

    page: str
    """Empty if the source has no pages."""
    manual: str

    def to_frontend(self) -> dict[str, Any]:
        """Return the source for frontends. A page that is a number becomes one."""
        page: str | int | None = int(self.page) if self.page.isdecimal() else self.page or None
        return {"page": page, "manual": self.manual}


def passages(objects: Iterable[str], max_chars: int) -> str:
    """Return objects as numbered passages, as one text."""
    return "\n\n".join(passage_texts(objects, max_chars))


def passage_texts(objects: Iterable[str], max_chars: int) -> list[str]:
    """Return objects as numbered passages, each with its manual and page.

    If the passages are too long together, the longest ones are cut at their end.
    """
    pairs = [(_heading(each), _text(each)) for each in map(members, objects)]
    room = _max_passage_chars([len(text) for _, text in pairs], max_chars)
    return [
        f"[{number}]{heading} {text if len(text) <= room else text[:room] + '…'}"
        for number, (heading, text) in enumerate(pairs, start=1)
    ]


def sources(objects: Iterable[str]) -> tuple[Citation, ...]:
    """Return the sources of objects, each page of a manual once, in the order of the objects."""
    citations: dict[Citation, None] = {}
    for each in map(members, objects):
        inner = each.get("sources")
        for source in inner if isinstance(inner, list) else [each]:
            if isinstance(source, dict) and (citation := _citation(source)):
                citations.setdefault(citation)
    return tuple(citations)


def progress(state: State, max_chars: int) -> str:
    """Return the steps and findings of a run so far, for the model that decides the next step."""
    environment = state.environment
    lines = [
        f"{past.tool}({json.dumps(past.inputs, ensure_ascii=False)[:_MAX_INPUTS_CHARS]}): "
        f"{'failed' if past.failed else f'{past.new_objects} new results'}"
        for past in state.history
    ]
    lines += [f"{each.tool} says: {each.message}" for each in environment.findings if each.message]
    lines += errors(environment)
    if not environment.is_empty():
        lines.append("Found so far:\n" + passages(environment.objects(), max_chars))
    return "\n".join(lines)


def errors(environment: Environment) -> list[str]:
    """Return one line for each tool whose last run failed."""
    return [
        f"{tool} failed: {error.message}" + (f" {error.suggestion}." if error.suggestion else "")
        for tool, error in environment.errors.items()
    ]


def _heading(values: Mapping[str, Any]) -> str:
    source = _citation(values)
    if source is None:
        return ""
    return f" ({source.manual}, page {source.page})" if source.page else f" ({source.manual})"


def _citation(values: Mapping[str, Any]) -> Citation | None:
    manual = next((values[name] for name in _MANUALS if isinstance(values.get(name), str)), "")
    page = values.get("page")
    page_text = str(page) if isinstance(page, (int, str)) and not isinstance(page, bool) else ""
    return Citation(page_text if page_text != "0" else "", manual) if manual else None


def _text(values: Mapping[str, Any]) -> str:
    texts = [values[name] for name in _TEXTS if isinstance(values.get(name), str) and values[name]]
    return "\n".join(texts) if texts else json.dumps(values, ensure_ascii=False)


def _max_passage_chars(lengths: list[int], max_chars: int) -> int:
    """Return the length of one passage with which all together have at most `max_chars`."""
    left, room = max_chars, max_chars
    for number, length in enumerate(sorted(lengths)):
        room = left // (len(lengths) - number)
        if length > room:
            return max(room, 1)
        left -= length
    return room
