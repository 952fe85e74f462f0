"""Running heads, and folios: lines of pages that are nothing but the number of the page.

A number alone may also be a year or a cell of a table. So a number counts as a folio only as part
of a sequence: it is the first or the last line of several pages and grows with them.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_NUMBER = re.compile(r"[0-9]{1,4}|[ivxlc]{1,9}", re.IGNORECASE)
_MARKED = re.compile(
    r"[-–—]\s*([0-9]{1,4})\s*[-–—]"  # noqa: RUF001 (dashes around numbers)
    r"|(?:page|pg\.|p\.|seite|sida|página|pagina|side)\s*([0-9]{1,4})"
    r"(?:\s*(?:/|of|von|av|de|di|van|sur)\s*[0-9]{1,4})?"
    r"|([0-9]{1,4})\s*/\s*[0-9]{1,4}",
    re.IGNORECASE,
)
_BESIDE_HEAD = re.compile(r"([0-9]{1,4})\s+\S.{,98}|.{,98}\S\s+([0-9]{1,4})")
_YEARS = range(1500, 2200)
_DIGITS = re.compile(r"[0-9]+")
_EDGE = 2  # lines at the top and at the bottom of a page
_HEAD_LETTERS = 4
_HEAD_PAGES = 4  # pages with the same line
_SEQUENCE = 3
"""Pages whose numbers grow with them; fewer only if they are half of the document."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    page: int
    """Counted from 1."""
    line: int
    offset: int
    """The difference between the printed number and that of the page."""
    marked: bool
    """Whether it says that it is the number of a page."""


def folios(pages: Sequence[Sequence[str]]) -> list[set[int]]:
    """Return, for each page, which of its lines are folios."""
    groups: dict[tuple[str, int], list[_Candidate]] = defaultdict(list)
    written = 0
    for number, lines in enumerate(pages, start=1):
        filled = [at for at, line in enumerate(lines) if line.strip()]
        written += bool(filled)
        for at in dict.fromkeys((*filled[:1], *filled[-1:])):
            for kind, candidate in _candidates(lines[at].strip(), number, at):
                groups[kind, candidate.offset].append(candidate)
    chosen: list[set[int]] = [set() for _ in pages]
    for (kind, _), group in groups.items():
        # The heads of sections differ, and only their numbers grow with the pages.
        is_rare = kind == "head" and len(group) < max(_HEAD_PAGES, written // 10)
        if not is_rare and _is_sequence(group, written):
            for candidate in group:
                chosen[candidate.page - 1].add(candidate.line)
    return chosen


def running_heads(pages: Sequence[Sequence[str]]) -> list[set[int]]:
    """Return, for each page, which of its first and last lines stand on many pages alike.

    Numbers in them may differ, as those of pages and chapters do.
    """
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for page, lines in enumerate(pages):
        filled = [at for at, line in enumerate(lines) if line.strip()]
        for at in {*filled[:_EDGE], *filled[-_EDGE:]}:
            words = _DIGITS.sub("#", "".join(lines[at].split())).casefold()
            if sum(map(str.isalpha, words)) >= _HEAD_LETTERS:
                places[words].append((page, at))
    chosen: list[set[int]] = [set() for _ in pages]
    for group in places.values():
        if len({page for page, _ in group}) >= max(_HEAD_PAGES, len(pages) // 10):
            for page, at in group:
                chosen[page].add(at)
    return chosen


def _candidates(line: str, page: int, at: int) -> Iterator[tuple[str, _Candidate]]:
    if marked := _MARKED.fullmatch(line):
        value = int(next(filter(None, marked.groups())))
        yield "marked", _Candidate(page, at, value - page, marked=True)
    elif _NUMBER.fullmatch(line):
        value = page_number(line)
        if value and value not in _YEARS:
            kind = "arabic" if line.isdecimal() else "roman"
            yield kind, _Candidate(page, at, value - page, marked=False)
    elif beside := _BESIDE_HEAD.fullmatch(line):
        value = int(beside[1] or beside[2])
        if value not in _YEARS and sum(map(str.isalpha, line)) >= _HEAD_LETTERS:
            yield "head", _Candidate(page, at, value - page, marked=False)


def _is_sequence(group: Sequence[_Candidate], written: int) -> bool:
    """Return whether candidates with one offset are folios of a document of `written` pages."""
    count = len({candidate.page for candidate in group})
    if count >= _SEQUENCE:
        return True
    # On few pages only numbers that are those of the pages, or begin with 1 after other pages.
    first = min(candidate.page + candidate.offset for candidate in group)
    counted = group[0].offset == 0 or first == 1
    return counted and (count > 1 or group[0].marked) and 2 * count >= written


def page_number(text: str) -> int:
    """Return the value of an Arabic or a Roman number, 0 if the text is none."""
    return int(text) if text.isdecimal() else _ROMAN.get(text.lower(), 0)


def roman(value: int) -> str:
    """Return a number from 1 to 3,999 in small Roman numerals; empty for others."""
    parts = []
    if not 0 < value < 4_000:  # noqa: PLR2004 (the docstring says it)
        return ""
    for size, sign in _SIGNS.items():
        count, value = divmod(value, size)
        parts.append(sign * count)
    return "".join(parts)


_SIGNS = {
    1000: "m",
    900: "cm",
    500: "d",
    400: "cd",
    100: "c",
    90: "xc",
    50: "l",
    40: "xl",
    10: "x",
    9: "ix",
    5: "v",
    4: "iv",
    1: "i",
}
_ROMAN = {roman(value): value for value in range(1, 400)}
