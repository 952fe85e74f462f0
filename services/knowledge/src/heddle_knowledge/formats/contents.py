"""Lines of a table of contents: a title, dots that lead to the right, the number of a page.

Such a line repeats a title of the document, so nothing is lost without it. A price list or a table
of figures can look the same. So lines count as contents only where the document proves it: their
titles stand on later lines of their own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from heddle_knowledge.formats.folios import page_number

_PAGE = re.compile(r"(?:^|[\s.…·])([0-9]{1,4}|[ivxlc]{1,9})\s*$")
_LEADER = " \t\u00a0.…·"
_FEWEST_DOTS = 4
_DOTS = {".": 1, "·": 1, "…": 3}
_SIGNS = re.compile(r"[\W_]+")
_NUMBERING = re.compile(r"(?:chapter|appendix|part|section)?\s*[0-9A-Z]{1,3}(?:\.[0-9]+)*\.?\s+")
_TITLES = frozenset(
    {
        "contents", "tableofcontents", "listoffigures", "listoftables", "inhalt",
        "inhaltsverzeichnis", "innehåll", "innehållsförteckning", "índice", "sommaire",
        "tabledesmatières", "indice", "sommario", "inhoud", "inhoudsopgave",
    }
)  # fmt: skip
_SHORTEST = 4
"""Letters and digits of a title that proves anything."""


@dataclass(frozen=True, slots=True)
class _Entry:
    line: int
    titles: frozenset[str]
    """The forms in which the title may stand in the document."""


def contents_of(lines: Sequence[str]) -> set[int]:
    """Return which lines of a document are lines of contents."""
    entries = [entry for at in range(len(lines)) if (entry := _entry(lines, at))]
    dotted = {entry.line for entry in entries}
    last = {bare(line): at for at, line in enumerate(lines) if at not in dotted}
    proven = sum(
        any(last.get(title, -1) > entry.line for title in entry.titles) for entry in entries
    )
    titled = any(bare(line) in _TITLES for line in lines)
    if proven <= (0 if titled else 1) or 2 * proven < len(entries):
        return set()
    above = entries[0].line
    while above > 1 and not bare(lines[above - 1]):  # blank, or the rule below the title
        above -= 1
    if above and bare(lines[above - 1]) in _TITLES:
        dotted.update(range(above - 1, entries[0].line))
    return dotted


def without_contents(text: str) -> str:
    """Return a text without its lines of contents, unless it has no others."""
    lines = text.split("\n")
    contents = contents_of(lines)
    rest = [line for at, line in enumerate(lines) if at not in contents]
    return "\n".join(rest) if contents and any(map(str.strip, rest)) else text


def bare(text: str) -> str:
    """Return the letters and digits of a text, in small letters."""
    return _SIGNS.sub("", text).casefold()


def _entry(lines: Sequence[str], at: int) -> _Entry | None:
    page = _PAGE.search(lines[at])
    if page is None or not page_number(page[1]):
        return None
    before = lines[at][: page.start(1)]
    title = before.rstrip(_LEADER)
    if sum(_DOTS.get(sign, 0) for sign in before[len(title) :]) < _FEWEST_DOTS:
        return None
    above = lines[at - 1] if at else ""  # a long title may begin there
    forms = title, _NUMBERING.sub("", title, count=1), above + title
    return _Entry(at, frozenset(form for form in map(bare, forms) if len(form) >= _SHORTEST))
