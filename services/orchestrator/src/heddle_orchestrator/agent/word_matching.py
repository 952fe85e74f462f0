"""Compares the words of questions, tools and results in any language."""

import re
from collections.abc import Iterable

_WORD = re.compile(r"[^\W_]+(?:[-.'\u2019][^\W_]+)*")


def word_set(text: str) -> frozenset[str]:
    """Return the words that white space separates in `text`."""
    return frozenset(text.split())


_MIN_CHARS = 3
_STEM_CHARS = 5  # most endings of words come later
# In the languages of Heddle's users.
_STOP_WORDS = word_set(
    """
    a an and any are at be been but by can could did do does for from get give had has have how
    i if in into is it its let like look make may me my need of on or our out please say shall
    should show some tell than that the their them then there these they this to us use used
    using want was we were what when where which who whom whose why will with would you your
    about also explain find search mean means work works al como con cual cuál cuando cuándo de
    del donde dónde el en es esta este la las lo los me mi para por qué que se sin su un una y
    els és per quin quina com amb són le la les des du une est dans que quel quelle comment pour
    avec sur sont et der die das den dem ein eine ist sind wie was wer wo wann und oder mit für
    von zu im auf
    """
)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return _WORD.findall(text.casefold())


def content_words(text: str) -> list[str]:
    """Return the words of a text without stop words, in order, each once."""
    content = (word for word in words(text) if word not in _STOP_WORDS)
    return list(
        dict.fromkeys(word for word in content if len(word) >= _MIN_CHARS or word.isdigit())
    )


def stems(texts: Iterable[str]) -> frozenset[str]:
    """Return the first five letters of each word, so that forms of one word are equal."""
    return frozenset(word[:_STEM_CHARS] for word in texts)


def coverage(request: str, text: str) -> float:
    """Return the share of a request's content words that occur in `text`, 0 to 1.

    A request without content words is covered by any text.
    """
    needed = stems(content_words(request))
    if not needed:
        return 1.0
    return len(needed & stems(words(text))) / len(needed)


def similarity(one: Iterable[str], other: Iterable[str]) -> float:
    """Return the share of words that two texts have in common, 0 to 1."""
    left, right = set(one), set(other)
    return len(left & right) / len(left | right) if left | right else 1.0
