"""Words that a reader loses against a judge, and numbers that it makes up."""

import re
import unicodedata
from collections import Counter

_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|!?\[|\]\([^)]*\)|\\(?=\W)")
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d(?:[\d.,]*\d)?")
_RAISED = re.compile("[⁰¹²³⁴-⁹₀-₉]+")


def _plain(text: str) -> str:
    """Return a text without marks of its layout; an exponent is a number of its own."""
    apart = _RAISED.sub(lambda match: f" {match[0]} ", _MARKUP.sub(" ", text))
    return unicodedata.normalize("NFKC", apart).replace("\u00ad", "").casefold()


def words(text: str) -> Counter[str]:
    """Count the words of a text, numbers included."""
    return Counter(_WORD.findall(_plain(text)))


def numbers(text: str) -> Counter[str]:
    """Count the numbers of a text."""
    return Counter(_NUMBER.findall(_plain(text)))


def keeps(text: str, judged: str, share: float) -> bool:
    """Return whether a text has all letters and digits of the judge's but for a share of them."""
    judge, own = (Counter(filter(str.isalnum, _plain(it))) for it in (judged, text))
    return (judge - own).total() <= share * judge.total()


def lost_words(text: str, judged: str) -> int:
    """Return how many words of the judge's text a text lacks."""
    return (words(judged) - words(text)).total()


def false_numbers(text: str, judged: str) -> int:
    """Return how many numbers of a text are not in that of the judge."""
    return len(numbers(text).keys() - numbers(judged).keys())
