"""The index of words of LanceDB, by the language."""

from collections.abc import Mapping

from lancedb.index import FTS

from heddle_knowledge.engines.languages import IN_PAIRS, STEMMED

_PAIR = 2


def words_index(language: str) -> FTS:
    """Return the options of the index of words for a language; accents never count."""
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
    """Return whether an index, by its details from LanceDB, is for a language."""
    config = words_index(language)
    names = ("base_tokenizer", "language", "stem", "remove_stop_words")
    return all(details.get(name) == getattr(config, name) for name in names)
