"""Manuals of Debian: a title of the outline asks for its page."""

import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

import pypdfium2  # type: ignore[import-untyped]  # ships no annotations

from benchmarks.retrieval.labelled import E5, MINILM, Labelled
from benchmarks.retrieval.packages import from_debian

THREE = (
    "gutenprint-doc/gutenprint-doc/gutenprint-users-manual.pdf",
    "debmake-doc/debmake-doc/debmake-doc.en.pdf",
    "xfig-doc/xfig/xfig_ref_en.pdf",
)
_LEADERS = re.compile(r"(?:\. ?){4,}\s*\d+\s*$", re.MULTILINE)
_FEWEST_LEADERS = 5  # of a page of contents
_NUMBERED = re.compile(
    r"^(?:(?:Chapter|Appendix|Kapitel|Anhang) )?(?:\d+|[A-Z](?=\.\d))(?:\.\d+)*\.?\s+"
)
_SHORTEST_TITLE = 4
_NO_TITLES = {"contents", "table of contents", "index", "inhaltsverzeichnis"}


def manuals(
    folder: Path,
    name: str,
    paths: Sequence[str],
    *,
    language: str = "en",
    limit: float | None = None,
) -> Labelled:
    """Return the set of some manuals.

    Args:
        folder: Where packages are kept.
        name: For tables.
        paths: Of PDFs: the package, and then below its `/usr/share/doc`; `.gz` is unpacked.
        language: Theirs.
        limit: The least nDCG@10 of hybrid search.
    """
    documents: dict[str, tuple[bytes, str]] = {}
    questions: list[tuple[str, frozenset[str]]] = []
    ignored: set[str] = set()
    for path in paths:
        package, _, below = path.partition("/")
        file = from_debian(folder, package) / "usr/share/doc" / below
        data = file.read_bytes()
        data = gzip.decompress(data) if file.suffix == ".gz" else data
        documents[file.name.removesuffix(".gz")] = (data, "application/pdf")
        label = file.name.removesuffix(".gz")
        with pypdfium2.PdfDocument(data) as document:
            contents = {number for number in range(len(document)) if _is_contents(document, number)}
            ignored |= {f"{label}#{number + 1}" for number in contents}
            for title, pages in _titles(document, contents).items():
                questions.append((title, frozenset(f"{label}#{page}" for page in pages)))
    return Labelled(
        name,
        MINILM if language == "en" else E5,
        limit,
        MappingProxyType(documents),
        questions,
        frozenset(ignored),
        language,
    )


def _titles(document: pypdfium2.PdfDocument, contents: set[int]) -> dict[str, set[int]]:
    """Return the titles of the outline without their numbers, each with its pages from 1."""
    titles: dict[str, set[int]] = {}
    for entry in document.get_toc():
        title = _NUMBERED.sub("", entry.get_title().strip())
        place = entry.get_dest()
        page = place.get_index() if place else None
        if page is None or page in contents or len(title) < _SHORTEST_TITLE:
            continue
        if title.lower() not in _NO_TITLES:
            titles.setdefault(title, set()).add(page + 1)
    return titles


def _is_contents(document: pypdfium2.PdfDocument, number: int) -> bool:
    text = document[number].get_textpage().get_text_bounded()
    return len(_LEADERS.findall(text.replace("\r", ""))) >= _FEWEST_LEADERS
