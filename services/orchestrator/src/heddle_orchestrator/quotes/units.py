"""Splits passages into the parts that can be quoted: sentences, rows of tables, items, lines."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

_CELLS = " | "
_MIN_WIDTH, _NARROW = 60, 25
"""The widths from which lines count as broken by the page, in characters; the second if the next
line begins with a small letter."""
_FULL_LINE = 0.75
"""The share of the widest line from which a line continues on the next one."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”\u2019»)\]]*\s+(?=[\"'“\u2018«(\[¿¡]*[^\W_a-zà-ÿ])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[^\W\d_]|Prof|Dra?|Mrs?|Ms|Sra?|St|vs|etc|e\.g|i\.e|approx|Figs?|Nos?|núm|pp|pàg|pág|"
    r"Sec|Ch|Vol|Eq)\.)$"
)
_ITEM = re.compile(r"\s*(?:[-*+•◦▪☐o]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+")
_ENDS = (".", "!", "?", "…", ":", ";")
_FACT = re.compile(r"\d|: ")
_SHORT_LINE = 160
"""Up to this length a line is quoted whole: its parts often belong together."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a passage that is quoted whole."""

    text: str
    block: int
    """The number of the paragraph, list or table in its passage."""
    is_sentence: bool = True
    """Whether it is prose; rows, items and lines of a block belong together."""
    header: str = ""
    """The names of the columns, if it is a row of a table."""

    @property
    def is_title(self) -> bool:
        """Whether it only names what follows, so that it says nothing alone."""
        if self.is_sentence or self.header:
            return self.text.endswith(":")
        item = _ITEM.match(self.text)
        says_something = " " in self.text[item.end() :] if item else _FACT.search(self.text)
        return self.text.endswith(":") or not says_something


def units_of(text: str) -> list[Unit]:
    """Return the parts of a passage, in order, its titles among them."""
    units: list[Unit] = []
    lines = _joined(text.splitlines())
    for block, (kind, group) in enumerate(groupby(lines, _kind)):
        members = list(group)
        if kind == "row" and len(members) > 1:
            header, *rows = members
            units += [Unit(row, block, is_sentence=False, header=header) for row in rows]
        elif kind in ("row", "line"):
            units += [Unit(line, block, is_sentence=False) for line in members]
        elif kind == "prose":
            units += [Unit(each, block) for line in members for each in _sentences(line)]
    return units


def _kind(line: str) -> str:
    if not line:
        return ""
    if _CELLS in line:
        return "row"
    if _ITEM.match(line):
        return "line" if len(list(_sentences(line))) == 1 else "prose"
    return "prose" if line.endswith(_ENDS[:4]) or len(line) > 2 * _MIN_WIDTH else "line"


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines, those together that the width of a page has broken."""
    widest = max(map(len, lines), default=0)
    full = _FULL_LINE * widest
    current, last, are_broken = "", "", False
    for line in map(str.strip, lines):
        follows = current and line and not _ITEM.match(line) and _CELLS not in current + line
        if follows and not current.endswith(_ENDS) and _continues(last, line, full):
            current, are_broken = f"{current} {line}", True
        else:
            if current or not line:
                yield current
            if current and not line:
                yield ""
            current = line
        last = line
    if are_broken and len(last) >= max(_MIN_WIDTH, full) and not current.endswith(_ENDS):
        # The last sentence goes on in the next passage.
        current = " ".join(list(_split(current))[:-1])
    if current:
        yield current


def _continues(line: str, following: str, full: float) -> bool:
    wide = len(line) >= max(_MIN_WIDTH, full)
    return wide or (following[:1].islower() and len(line) >= _NARROW and not line[-1].isdigit())


def _sentences(line: str) -> Iterator[str]:
    return iter([line]) if len(line) <= _SHORT_LINE else _split(line)


def _split(line: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(line):
        if not _ABBREVIATION.search(line[start : end.start()]):
            yield line[start : end.end()].strip()
            start = end.end()
    if rest := line[start:].strip():
        yield rest
