"""The words of the passages of a collection, in memory, for searches by BM25.

Words are cut and weighed as the tables of LanceDB do it, so that passages have the same order and
scores whether memory or the engine is searched.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from heddle_knowledge.engines.languages import ENGLISH, IN_PAIRS, STEMMED

_K1, _B = 1.2, 0.75
_LONGEST_WORD = 40
_PAIR = 2
_BYTES_OF_WORD = 150
"""Bytes of a word with its entry in the dictionary."""
_ENGLISH = """
a about above after again against ain all am an and any are aren as at be because been before being
below between both but by can couldn d did didn do does doesn doing don down during each few for
from further had hadn has hasn have haven having he her here hers herself him himself his how i if
in into is isn it its itself just ll m ma me mightn more most mustn my myself needn no nor not now o
of off on once only or other our ours ourselves out over own re s same shan she should shouldn so
some such t than that the their theirs them themselves then there these they this those through to
too under until up ve very was wasn we were weren what when where which while who whom why will with
won wouldn y you your yours yourself yourselves
"""
"""The stop words of LanceDB for English; those of other languages are the same in Tantivy."""
_WITHOUT_STOP_WORDS = frozenset({"ar", "el", "ro", "ta", "tr"})


class WordIndex:
    """The words of texts, each with the texts that have it and its BM25 in each of them."""

    def __init__(self, texts: Sequence[str], language: str) -> None:
        """Index texts. Takes some 30 µs for each.

        Args:
            texts: Any number.
            language: See `languages`.
        """
        self._count = len(texts)
        self._analyzer = _analyzer(language)
        self._numbers: dict[str, int] = {}
        numbers = self._numbers
        words: list[int] = []
        lengths = np.zeros(self._count, dtype=np.int64)
        for at, text in enumerate(texts):
            parts = self._analyzer.analyze(text)
            lengths[at] = len(parts)
            words += [numbers.setdefault(word, len(numbers)) for word in parts]
        places = np.repeat(np.arange(self._count), lengths)
        each, uses = np.unique(
            np.array(words, dtype=np.int64) * self._count + places, return_counts=True
        )
        word, place = np.divmod(each, max(self._count, 1))
        self._starts = np.searchsorted(word, np.arange(len(numbers) + 1))
        having = np.diff(self._starts)
        rarity = np.log1p((self._count - having + 0.5) / (having + 0.5))
        long = _K1 * (1 - _B + _B * lengths / max(lengths.mean() if len(lengths) else 0.0, 1e-9))
        self._places = place
        self._weights = (rarity[word] * uses * (_K1 + 1) / (uses + long[place])).astype(np.float32)
        held = (self._starts, self._places, self._weights)
        self.nbytes = sum(part.nbytes for part in held) + _BYTES_OF_WORD * len(numbers)
        """About how many bytes it needs."""

    def scores(self, question: str) -> NDArray[np.float32]:
        """Return the BM25 of each text, 0 if it has no word of the question: shape [len(texts)]."""
        scores = np.zeros(self._count, dtype=np.float32)
        for word in self._analyzer.analyze(question):
            number = self._numbers.get(word)
            if number is not None:
                own = slice(self._starts[number], self._starts[number + 1])
                np.add.at(scores, self._places[own], self._weights[own])
        return scores


def _analyzer(language: str) -> TextAnalyzer:
    """Return what cuts texts into words; `engines.lance_table.words_index` is its like."""
    in_pairs = language in IN_PAIRS
    tokenizer = Tokenizer.ngram(_PAIR, _PAIR, prefix_only=False) if in_pairs else Tokenizer.simple()
    builder = TextAnalyzerBuilder(tokenizer).filter(Filter.remove_long(_LONGEST_WORD))
    builder = builder.filter(Filter.lowercase())
    if name := STEMMED.get(language):
        builder = builder.filter(Filter.stemmer(name))
        if language == ENGLISH:
            builder = builder.filter(Filter.custom_stopword(_ENGLISH.split()))
        elif language not in _WITHOUT_STOP_WORDS:
            builder = builder.filter(Filter.stopword(name))
    return builder.filter(Filter.ascii_fold()).build()
