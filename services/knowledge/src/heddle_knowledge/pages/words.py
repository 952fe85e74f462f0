"""The words of pages and questions: what they are cut into, and how much each of them counts."""

import hashlib
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing

TOKENIZER = "porter unicode61 remove_diacritics 2"
"""The tokenizer of pages, as an option of SQLite's FTS5."""
_MOST_WORDS = 64
_RAREST = 3
"""The number of rare words of a question that define its subject; sentences have many others."""
_WORD = re.compile(r"[^\W_]+")
_LONGEST_TOKEN = 200
_CUT = f"""
CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = '{TOKENIZER}');
CREATE VIRTUAL TABLE tokens USING fts5vocab (texts, 'instance');
"""


def words_of(question: str) -> list[str]:
    """Return the distinct words of a question, the first 64 of them."""
    return list(dict.fromkeys(_WORD.findall(question.lower())))[:_MOST_WORDS]


def tokens_of(texts: Sequence[str]) -> list[Counter[str]]:
    """Return the number of each token in each text, as FTS5 counts them in an index of the texts.

    SQLite and PostgreSQL so have the same words.
    """
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(_CUT)
        database.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts))
        counted = database.execute("SELECT doc, term, count(*) FROM tokens GROUP BY doc, term")
        tokens = [Counter[str]() for _ in texts]
        for text, token, count in counted:
            tokens[text][_shortened(token)] += count
    return tokens


def shares(counts: Mapping[str, int], total: int) -> dict[str, float]:
    """Return by word of a question how much a page that has it once matches; 1 is the most.

    Args:
        counts: How many pages have each word.
        total: The number of pages.

    Returns:
        The weights of the words that pages have, divided by that of the three rarest words.
    """
    weights = {word: _weight(count, total) for word, count in counts.items() if count}
    if not weights:
        return {}
    # A word that no page has weighs as much as the others do on average.
    unknown = [sum(weights.values()) / len(weights)] * (len(counts) - len(weights))
    rarest = sum(sorted([*weights.values(), *unknown])[-_RAREST:])
    return {word: weight / rarest for word, weight in weights.items()}


def matched(
    occurrences: Iterable[tuple[str, int, float]], weights: Mapping[str, float]
) -> dict[int, float]:
    """Return by page how well it matches.

    Args:
        occurrences: Words, pages that have them, and how often, saturated as in BM25.
        weights: What `shares` returned.
    """
    sums: dict[int, float] = {}
    for word, page, frequency in occurrences:
        sums[page] = sums.get(page, 0.0) + weights[word] * frequency
    return sums


def _weight(count: int, total: int) -> float:
    """Return the weight of a word that so many pages have; that of SQLite can be 0."""
    return math.log1p((total - count + 0.5) / (count + 0.5))


def _shortened(token: str) -> str:
    """Return a token that an index takes: texts without spaces are one token."""
    if len(token) <= _LONGEST_TOKEN:
        return token
    return hashlib.sha256(token.encode()).hexdigest()
