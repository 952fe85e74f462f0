"""The index of words of LanceDB, by the language."""

from collections.abc import Mapping

from lancedb.index import FTS

from heddle_knowledge.languages import IN_PAIRS, STEMMED

_PAIR = 2


def words_index(language: str) -> FTS:
    """Return how the words of a language are indexed; accents never count."""
    if language in STEMMED:  # its stop words are left out
        return FTS(language=STEMMED[language].capitalize())
    if language in IN_PAIRS:
        return FTS(
            base_tokenizer="ngram",
            ngram_min_length=_PAIR,
            ngram_max_length=_PAIR,
            stem=False,
            remove_stop_words=False,
        )
    return FTS(stem=False, remove_stop_words=False)


def is_of(details: Mapping[str, object], language: str) -> bool:
    """Say whether an index, by its details as LanceDB tells them, is one of a language."""
    config = words_index(language)
    names = ("base_tokenizer", "language", "stem", "remove_stop_words")
    return all(details.get(name) == getattr(config, name) for name in names)
