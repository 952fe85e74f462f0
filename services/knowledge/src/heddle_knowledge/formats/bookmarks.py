"""The bookmarks of a PDF, which name its sections."""

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

import pypdfium2  # type: ignore[import-untyped]  # ships no annotations

_MOST = 20_000
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A section: its title, and its level, 1 the highest."""

    title: str
    level: int


def bookmarks_by_page(document: pypdfium2.PdfDocument) -> dict[int, list[Bookmark]]:
    """Return the sections that begin on each page, pages counted from 0.

    Bookmarks that lead back, into another document, or nowhere are left out: what follows a
    page would not be their section.
    """
    by_page: dict[int, list[Bookmark]] = defaultdict(list)
    last = 0
    for mark in islice(document.get_toc(), _MOST):
        target = mark.get_dest()
        page = target.get_index() if target is not None else None
        title = ""
        with suppress(UnicodeError):
            title = " ".join(mark.get_title().split())[:_LONGEST]
        if title and page is not None and last <= page < len(document):
            last = page
            by_page[page].append(Bookmark(title, mark.level + 1))
    return by_page
