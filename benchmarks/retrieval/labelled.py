"""The labelled sets: documents, questions, and what answers each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from benchmarks.retrieval.packages import from_pypi

MINILM = "all-MiniLM-L6-v2-int8"
E5 = "multilingual-e5-small-q4"
_EVERY, _SUBSET = 4, 120
_MODELS = {"en": MINILM, "sv": E5}


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
        language: Of the documents, as a collection names it.
        shelf: The set whose documents these are, if it is another one.
    """

    name: str
    model: str
    limit: float | None
    documents: Mapping[str, tuple[bytes, str]]
    questions: list[tuple[str, frozenset[str]]]
    ignored: frozenset[str] = frozenset()
    language: str = "en"
    shelf: str = ""

    @property
    def collection(self) -> str:
        """The name of the collection that holds the documents."""
        return self.shelf or self.name

    @property
    def by_page(self) -> bool:
        """Whether pages answer, not documents."""
        return any(kind == "application/pdf" for _, kind in self.documents.values())


def semanlink(folder: Path, *, titles: bool = False) -> Labelled:
    """Papers of arXiv, and the tags that a person gave them, by their labels.

    Args:
        folder: Where packages are kept.
        titles: Ask by the title of a paper alone, not by title and abstract.
    """
    data = from_pypi(folder) / "cherche/data/semanlink"
    tags = json.loads((data / "tags.json").read_text())
    documents = {uri: plain(" ".join(tag["prefLabel"]) or uri) for uri, tag in tags.items()}
    questions = []
    for paper in json.loads((data / "arxiv.json").read_text()):
        labels = frozenset(tag for tag in paper["tag"] if not tag.endswith("/arxiv_doc"))
        asked = (
            paper["arxiv_title"] if titles else f"{paper['arxiv_title']} {paper['arxiv_summary']}"
        )
        if labels:
            questions.append((asked, labels))
    name, limit = ("semanlink-titles", None) if titles else ("semanlink", 0.41)
    return Labelled(name, MINILM, limit, MappingProxyType(documents), questions, shelf="semanlink")


def construction_faq(folder: Path, language: str, *, subset: bool = False) -> Labelled:
    """Questions and answers about construction: each question's own answer is the right one.

    Args:
        folder: Where packages are kept.
        language: `en` or `sv`.
        subset: Only 120 of the 503, every fourth, and only their answers.
    """
    rows = _pairs(folder, language)
    if subset:
        rows = rows[::_EVERY][:_SUBSET]
    limits = {("en", False): 0.70, ("sv", True): 0.76}
    return Labelled(
        f"faq-{language}" + ("-120" if subset else ""),
        _MODELS[language],
        limits.get((language, subset)),
        MappingProxyType({row["id"]: plain(row["a"]) for row in rows}),
        [(row["q"], frozenset([row["id"]])) for row in rows],
        language=language,
    )


def construction_questions(folder: Path, language: str) -> Labelled:
    """The same the other way round: an answer asks for its question."""
    rows = _pairs(folder, language)
    return Labelled(
        f"faq-{language}-back",
        _MODELS[language],
        None,
        MappingProxyType({row["id"]: plain(row["q"]) for row in rows}),
        [(row["a"], frozenset([row["id"]])) for row in rows],
        language=language,
    )


def construction_across(folder: Path) -> Labelled:
    """Questions in English, answers in Swedish: words hardly help."""
    asked = {row["id"]: row["q"] for row in _pairs(folder, "en")}
    rows = _pairs(folder, "sv")
    return Labelled(
        "faq-en-sv",
        E5,
        None,
        MappingProxyType({row["id"]: plain(row["a"]) for row in rows}),
        [(asked[row["id"]], frozenset([row["id"]])) for row in rows if row["id"] in asked],
        language="sv",
        shelf="faq-sv",
    )


def plain(text: str) -> tuple[bytes, str]:
    """Return a text as a document."""
    return text.encode(), "text/plain"


def _pairs(folder: Path, language: str) -> list[dict[str, str]]:
    name = {"en": "faq-en.jsonl", "sv": "faq.jsonl"}[language]
    path = from_pypi(folder) / "zaragoza_construction_faq/data" / name
    return [json.loads(line) for line in path.read_text().splitlines()]
