"""The words of the passages of a collection, in memory, for searches by BM25."""

from collections.abc import Sequence

import numpy as np
import tantivy
from numpy.typing import NDArray
from tantivy import Filter, Occur, Query, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from heddle_knowledge.engines.languages import IN_PAIRS, STEMMED

_FIELD, _ANALYZER = "words", "language"
_LONGEST_WORD = 40
_PAIR = 2
_LEAST_HEAP, _HEAP_PER_CHARACTER = 15_000_000, 8
_WITHOUT_STOP_WORDS = frozenset({"arabic", "greek", "romanian", "tamil", "turkish"})
Matches = tuple[NDArray[np.int64], NDArray[np.float32]]


class WordIndex:
    """An index of texts by their words, which are cut as the tables of LanceDB cut them."""

    def __init__(self, texts: Sequence[str], language: str) -> None:
        """Index texts. Takes 20 µs for each, and lets other threads run meanwhile.

        Args:
            texts: At most some 20,000.
            language: See `languages`.
        """
        builder = tantivy.SchemaBuilder()
        builder.add_text_field(_FIELD, tokenizer_name=_ANALYZER, index_option="freq")
        self._schema = builder.build()
        self._analyzer = _analyzer(language)
        index = tantivy.Index(self._schema)
        index.register_tokenizer(_ANALYZER, self._analyzer)
        size = sum(map(len, texts))
        # One thread, and room for all: so there is one segment, in the order of the texts.
        writer = index.writer(_LEAST_HEAP + _HEAP_PER_CHARACTER * size, num_threads=1)
        for text in texts:
            writer.add_document(tantivy.Document(**{_FIELD: [text]}))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()
        self.nbytes = size
        """About how many bytes it needs."""

    @property
    def is_whole(self) -> bool:
        """Whether it can be searched: documents of several segments have no common numbers."""
        return self._searcher.num_segments <= 1

    def best(self, question: str, count: int, matching: NDArray[np.bool_] | None) -> Matches:
        """Return the texts that fit a question best: their places and their BM25.

        Args:
            question: Any of its words must be in a text.
            count: At most so many.
            matching: Which texts may be found, shape [len(texts)]; None: all.
        """
        words = dict.fromkeys(self._analyzer.analyze(question))
        terms = [
            (Occur.Should, Query.term_query(self._schema, _FIELD, word, "freq")) for word in words
        ]
        limit = count if matching is None else max(1, len(matching))
        found = self._searcher.search(Query.boolean_query(terms), limit, count=False).hits
        places = np.array([address.doc for _, address in found], dtype=np.int64)
        scores = np.array([score for score, _ in found], dtype=np.float32)
        if matching is not None:
            kept = matching[places].nonzero()[0][:count]
            places, scores = places[kept], scores[kept]
        return places, scores


def _analyzer(language: str) -> TextAnalyzer:
    """Return what cuts texts into words; `engines.lance_table.words_index` is its like."""
    in_pairs = language in IN_PAIRS
    tokenizer = Tokenizer.ngram(_PAIR, _PAIR, prefix_only=False) if in_pairs else Tokenizer.simple()
    builder = TextAnalyzerBuilder(tokenizer).filter(Filter.remove_long(_LONGEST_WORD))
    builder = builder.filter(Filter.lowercase())
    if name := STEMMED.get(language):
        builder = builder.filter(Filter.stemmer(name))
        if name not in _WITHOUT_STOP_WORDS:
            builder = builder.filter(Filter.stopword(name))
    return builder.filter(Filter.ascii_fold()).build()
