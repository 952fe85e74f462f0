"""Titles of sections on pages that no bookmark names: lines in larger letters, or numbered ones."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from heddle_knowledge.formats.pdf_lines import Line

_NUMBERED = re.compile(r"((?:[0-9]{1,2}|[A-Z])(?:\.[0-9]{1,2}){0,4})\.?\s+\w[^.]*")
_LARGER = 1.12  # than the letters of the text
_TITLE_CHARACTERS = 160
_TITLE_LINES = 3
_LEVELS = 6
_SHARE_OF_TITLES = 0.2
"""Of the letters of a document; more than these are no titles, as on posters and in forms."""


@dataclass(frozen=True, slots=True)
class Title:
    """The beginning of a section.

    Attributes:
        text: What it is called.
        level: 1 for the highest.
        line: The line of the page where it stands; None if it is to be titles_by_page.
    """

    text: str
    level: int
    line: int | None = None


def titles_of_pages(
    pages: Sequence[Sequence[Line]], furniture: Sequence[set[int]]
) -> Mapping[int, list[Title]]:
    """Return the titles that stand on each page, pages counted from 0."""
    sizes: Counter[float] = Counter()
    for page, apart in zip(pages, furniture, strict=True):
        for at, line in enumerate(page):
            if at not in apart and line.words:
                sizes[line.size] += len(line.text)
    if not sizes:
        return {}
    usual = sizes.most_common(1)[0][0]
    larger = sorted((size for size in sizes if size >= _LARGER * usual), reverse=True)
    titles_by_page: dict[int, list[Title]] = defaultdict(list)
    for number, (page, apart) in enumerate(zip(pages, furniture, strict=True)):
        lines = [line if at not in apart else Line("") for at, line in enumerate(page)]
        for title, size in _titles(lines, usual):
            numbered = _NUMBERED.fullmatch(title.text)
            above = larger.index(size) if size in larger else len(larger)
            depth = numbered[1].count(".") if numbered and size not in larger else 0
            level = min(above + depth, _LEVELS - 1) + 1
            titles_by_page[number].append(Title(title.text, level, title.line))
    letters = sum(len(title.text) for titles in titles_by_page.values() for title in titles)
    return titles_by_page if letters <= _SHARE_OF_TITLES * sizes.total() else {}


def _titles(lines: Sequence[Line], usual: float) -> Iterator[tuple[Title, float]]:
    def size(at: int) -> float:
        return lines[at].size if _is_title(lines[at], usual) else 0

    for letters, places in groupby(range(len(lines)), size):
        group = list(places)
        text = " ".join(" ".join(lines[at].text for at in group).split())
        if letters > usual and len(group) <= _TITLE_LINES and len(text) <= _TITLE_CHARACTERS:
            yield Title(text, 1, group[0]), letters
        elif letters:
            for at in group:
                if _NUMBERED.fullmatch(lines[at].text.strip()):
                    yield Title(" ".join(lines[at].text.split()), 1, at), letters


def _is_title(line: Line, usual: float) -> bool:
    text = line.text.strip()
    if (
        not line.words
        or line.table
        or len(text) > _TITLE_CHARACTERS
        or not any(map(str.isalpha, text))
    ):
        return False
    return line.size >= _LARGER * usual or (line.bold and bool(_NUMBERED.fullmatch(text)))
