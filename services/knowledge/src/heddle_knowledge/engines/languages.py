"""The languages that the index of words knows, by their BCP 47 subtags.

The engines cut words to their stems with the same algorithms of Snowball, so a language is here
when both LanceDB and PostgreSQL have it. Languages that are written without spaces are indexed by
pairs of neighbouring characters, which needs no dictionary.
"""

from collections.abc import Mapping
from types import MappingProxyType

from heddle_knowledge.errors import InvalidInputError

ENGLISH = "en"
"""The language of collections that name none, and of all from before they could."""
NO_LANGUAGE = "und"
"""Words as they are written: for mixed collections, and languages that are not here."""
STEMMED: Mapping[str, str] = MappingProxyType(
    {
        "ar": "arabic",
        "da": "danish",
        "de": "german",
        "el": "greek",
        "en": "english",
        "es": "spanish",
        "fi": "finnish",
        "fr": "french",
        "hu": "hungarian",
        "it": "italian",
        "nl": "dutch",
        "no": "norwegian",
        "pt": "portuguese",
        "ro": "romanian",
        "ru": "russian",
        "sv": "swedish",
        "ta": "tamil",
        "tr": "turkish",
    }
)
"""Those whose words are cut to their stems, and what the engines call them."""
IN_PAIRS = frozenset({"ja", "ko", "th", "zh"})
"""Those of which pairs of characters are indexed."""
UNSPACED = r"\u0E00-\u0E7F\u3040-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF"
"""Their characters, as a range of a regular expression of Python and of PostgreSQL: Thai, kana, Han
and Hangul."""
_OTHER_NAMES = {"nb": "no", "nn": "no"}


def language_of(tag: str) -> str:
    """Return the language that a BCP 47 tag means here; of `pt-BR`, `pt`; of none, English.

    Raises:
        InvalidInputError: It is not supported; says what is.
    """
    if not tag:
        return ENGLISH
    first = tag.replace("_", "-").partition("-")[0].lower()
    language = _OTHER_NAMES.get(first, first)
    if language in STEMMED or language in IN_PAIRS or language == NO_LANGUAGE:
        return language
    raise InvalidInputError(f"The language {tag[:40]!r} is not supported: {rule()}.")


def rule() -> str:
    """Return the rule for a language, for messages."""
    known = ", ".join(sorted({*STEMMED, *IN_PAIRS}))
    return f"must be one of {known}, or {NO_LANGUAGE!r} for words as they are written"
