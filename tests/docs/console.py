"""Console sessions in documents: commands, and what they print."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OBJECT = re.compile(r"(?:\d+\)\t)?\{\}?$", re.MULTILINE)
_DECODER = json.JSONDecoder()
ANYTHING = "…"
"""Stands in a document for what differs from run to run."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a session and what it prints."""

    line: int
    command: str
    output: str


def steps(document: Path) -> list[Step]:
    """Return the commands of `document` in their order.

    A command begins with `$ ` and goes on while lines end in a backslash or a quote is open.
    """
    text = document.read_text()
    parsed: list[Step] = []
    for block in _BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1)) + 1
        lines = block[1].splitlines()
        starts = [index for index, line in enumerate(lines) if line.startswith("$ ")]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            last = start
            while lines[last].endswith("\\") or "\n".join(lines[start : last + 1]).count("'") % 2:
                last += 1
            command = "\n".join(lines[start : last + 1])[2:]
            parsed.append(Step(first + start, command, "\n".join(lines[last + 1 : end])))
    return parsed


def pieces(output: str) -> list[object]:
    """Return `output` as lines of text and, where a line is just a brace, JSON values.

    Messages of events that follow each other become one, and so do pieces of text: how they are
    grouped is chance.
    """
    parsed: list[object] = []
    position = 0
    while position < len(output):
        line = output[position:].split("\n", 1)[0]
        if _OBJECT.fullmatch(line.strip()):
            brace = position + line.index("{")
            if prefix := line[: line.index("{")].strip():
                parsed.append(prefix)
            value, position = _DECODER.raw_decode(output, brace)
            if value.keys() == {"events"}:
                _add_events(parsed, value["events"])
            else:
                parsed.append(value)
        else:
            if line.strip():
                parsed.append(line.strip())
            position += len(line) + 1
    return parsed


def _add_events(parsed: list[object], events: list[dict[str, object]]) -> None:
    match parsed[-1] if parsed else None:
        case {"events": list(known), **others} if not others:
            all_of_them = known
        case _:
            all_of_them = []
            parsed.append({"events": all_of_them})
    for event in events:
        match all_of_them[-1] if all_of_them else None, event:
            case {"textDelta": str(before)}, {"textDelta": str(after)}:
                all_of_them[-1] = {"textDelta": before + after}
            case _:
                all_of_them.append(event)


def agrees(shown: object, printed: object) -> bool:
    """Return whether `printed` is what a document shows, `…` taken for anything.

    At the end of an array it stands for further items, as a member's name for further members.
    """
    match shown, printed:
        case str(), _ if shown == ANYTHING:
            return True
        case str(), str() if ANYTHING in shown:
            parts = map(re.escape, shown.split(ANYTHING))
            return re.fullmatch(".*".join(parts), printed, re.DOTALL) is not None
        case dict(), dict():
            if ANYTHING not in shown and shown.keys() != printed.keys():
                return False
            names = shown.keys() - {ANYTHING}
            return names <= printed.keys() and all(
                agrees(shown[name], printed[name]) for name in names
            )
        case list(), list():
            if shown and shown[-1] == ANYTHING:
                shown = shown[:-1]
                printed = printed[: len(shown)]
            return len(shown) == len(printed) and all(map(agrees, shown, printed))
        case _:
            return shown == printed
