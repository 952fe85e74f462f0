"""Words of requests and of what was found, compared without knowing their language."""

import re
from collections.abc import Iterable

_WORD = re.compile(r"[^\W_]+(?:[-.'\u2019][^\W_]+)*")


def listed(text: str) -> frozenset[str]:
    """Return words that are written side by side."""
    return frozenset(text.split())


_SHORTEST = 3
_STEM = 5
# Words that say nothing about what is looked for, in the languages of Heddle's users.
_EMPTY = listed(
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
    """Return the words of a text in small letters, in order."""
    return _WORD.findall(text.casefold())


def telling(text: str) -> list[str]:
    """Return the words that say what a text is about, in order, each once."""
    found = (word for word in words(text) if word not in _EMPTY)
    return list(dict.fromkeys(word for word in found if len(word) >= _SHORTEST or word.isdigit()))


def stems(found: Iterable[str]) -> frozenset[str]:
    """Return beginnings of words, so that forms of one word are equal."""
    return frozenset(word[:_STEM] for word in found)


def covered(request: str, text: str) -> float:
    """Return which part of what a request is about occurs in `text`, 0 to 1; 1 if it is nothing."""
    wanted = stems(telling(request))
    if not wanted:
        return 1.0
    return len(wanted & stems(words(text))) / len(wanted)


def alike(one: Iterable[str], other: Iterable[str]) -> float:
    """Return how many of the words of two texts are in both, 0 to 1."""
    left, right = set(one), set(other)
    return len(left & right) / len(left | right) if left | right else 1.0


def is_empty(word: str) -> bool:
    """Return whether a word, in small letters, says nothing about what is looked for."""
    return word in _EMPTY
