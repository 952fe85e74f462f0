"""Lines of a table of contents: a title, dots that lead to the right, the number of a page.

Such a line repeats a title of the document, so nothing is lost without it. A price list or a table
of figures can look the same. So lines count as contents only where the document proves it: their
titles stand on the pages that they name or, without pages, on later lines of their own.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from heddle_knowledge.formats.folios import page_number

_PAGE = re.compile(r"(?:^|[\s.…·])([0-9]{1,4}|[ivxlc]{1,9})\s*$")
_LEADER = " \t\u00a0.…·"
_FEWEST_DOTS = 4
_DOTS = {".": 1, "·": 1, "…": 3}
_SIGNS = re.compile(r"[\W_]+")
_NUMBERING = re.compile(r"(?:chapter|appendix|part|section)?\s*[0-9A-Z]{1,3}(?:\.[0-9]+)*\.?\s+")
_OFFSETS = range(-8, 65)
"""The range of the difference between printed and real page numbers: front matter counts apart."""
_TITLES = frozenset(
    {
        "contents", "tableofcontents", "listoffigures", "listoftables", "inhalt",
        "inhaltsverzeichnis", "innehåll", "innehållsförteckning", "índice", "sommaire",
        "tabledesmatières", "indice", "sommario", "inhoud", "inhoudsopgave",
    }
)  # fmt: skip
_SHORTEST = 4
"""Letters and digits of a title that proves anything."""


@dataclass(frozen=True)
class _Entry:
    line: int
    title: str
    page: int
    """The number at its end; 0 for a Roman numeral."""
    dotted: bool
    above: str
    """The line before it, which may be the beginning of its title."""

    @cached_property
    def bare_titles(self) -> list[str]:
        """The forms in which the title may stand in the document."""
        whole = bare(self.title)
        forms = (whole, bare(_NUMBERING.sub("", self.title, count=1)), self.wrapped)
        return [form for form in dict.fromkeys(forms) if len(form) >= _SHORTEST]

    @cached_property
    def wrapped(self) -> str:
        """The title with the line above it."""
        return bare(self.above + self.title)


def contents_of_pages(pages: Sequence[Sequence[str]]) -> list[set[int]]:
    """Return, for each page, which of its lines are lines of contents."""
    texts = [bare("".join(line for line in lines if not _is_dotted(line))) for lines in pages]
    return [
        _contents_of_page(lines, [*texts[:at], "", *texts[at + 1 :]])
        if any(map(_is_dotted, lines))
        else set()
        for at, lines in enumerate(pages)
    ]


def without_contents(text: str) -> str:
    """Return a text that has no pages without its lines of contents."""
    lines = text.split("\n")
    contents = _contents_of_text(lines)
    rest = [line for at, line in enumerate(lines) if at not in contents]
    return "\n".join(rest) if contents and any(map(str.strip, rest)) else text


def bare(text: str) -> str:
    """Return the letters and digits of a text, in small letters."""
    return _SIGNS.sub("", text).casefold()


def is_title(text: str, title: str) -> bool:
    """Return whether a text is a title and nothing else but its number."""
    plain = " ".join(text.split())
    number = _NUMBERING.match(plain)
    return title in (plain, plain[number.end() :] if number else plain)


def _contents_of_text(lines: Sequence[str]) -> set[int]:
    entries = [entry for entry in _entries(lines) if entry.dotted]
    last = {bare(line): at for at, line in enumerate(lines) if not _is_dotted(line)}
    proven = sum(
        any(last.get(title, -1) > entry.line for title in entry.bare_titles) for entry in entries
    )
    if not _are_proven(proven, entries, lines):
        return set()
    above = entries[0].line
    while above > 1 and not bare(lines[above - 1]):  # blank, or the rule below the title
        above -= 1
    titled = above > 0 and bare(lines[above - 1]) in _TITLES
    titles = range(above - 1, entries[0].line) if titled else ()
    return {entry.line for entry in entries} | set(titles)


def _contents_of_page(lines: Sequence[str], texts: Sequence[str]) -> set[int]:
    """Return the lines of contents of a page; `texts` are those of the other pages."""
    entries = list(_entries(lines))
    dotted = [entry for entry in entries if entry.dotted]
    offset = _offset(dotted, lines, texts)
    if offset is None:
        return set()
    contents = {entry.line for entry in dotted}
    for entry in entries:
        if title := _title_on(entry, offset, texts):
            contents.add(entry.line)
            if title == entry.wrapped != bare(entry.title):
                contents.add(entry.line - 1)
    rest = [at for at, line in enumerate(lines) if line.strip() and at not in contents]
    only_titles = all(bare(lines[at]) in _TITLES or page_number(lines[at].strip()) for at in rest)
    return contents | set(rest) if only_titles else contents


def _entries(lines: Sequence[str]) -> Iterator[_Entry]:
    above = ""
    for at, line in enumerate(lines):
        if page := _PAGE.search(line):
            before = line[: page.start(1)]
            title = before.rstrip(_LEADER)
            number = int(page[1]) if page[1].isdecimal() else 0
            if page_number(page[1]):
                yield _Entry(at, title, number, _is_dotted(line), above)
        above = line


def _is_dotted(line: str) -> bool:
    page = _PAGE.search(line)
    if page is None:
        return False
    before = line[: page.start(1)]
    leader = before[len(before.rstrip(_LEADER)) :]
    return sum(_DOTS.get(sign, 0) for sign in leader) >= _FEWEST_DOTS


def _offset(entries: Sequence[_Entry], lines: Sequence[str], texts: Sequence[str]) -> int | None:
    """Return the difference between printed numbers and pages; None if no titles match."""
    numbered = [entry for entry in entries if entry.page]
    votes = {
        offset: sum(bool(_title_on(entry, offset, texts)) for entry in numbered)
        for offset in _OFFSETS
    }
    best = max(votes, key=lambda offset: (votes[offset], -abs(offset)))
    return best if _are_proven(votes[best], numbered, lines) else None


def _title_on(entry: _Entry, offset: int, texts: Sequence[str]) -> str:
    """Return the form of an entry's title that stands on its page; empty if none does."""
    at = entry.page + offset - 1
    if not entry.page or not 0 <= at < len(texts):
        return ""
    return next((title for title in entry.bare_titles if title in texts[at]), "")


def _are_proven(count: int, entries: Sequence[_Entry], lines: Sequence[str]) -> bool:
    """Return whether so many entries that the document proves are enough for all."""
    titled = any(bare(line) in _TITLES for line in lines)
    return count > (0 if titled else 1) and 2 * count >= len(entries)
