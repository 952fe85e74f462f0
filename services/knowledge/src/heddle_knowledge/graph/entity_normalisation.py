"""Decides which forms of writing are the same name."""

import re
from collections.abc import Container

_SPACE = re.compile(r"\s+")
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_POSSESSIVE = re.compile("['\u2019]s?$")
_EDGE = re.compile(r"^[^\w]+|[^\w+#]+$")
_LONGEST = 80
_SHORTEST = 2


def surface_of(text: str) -> str:
    """Return a name without article, possessive and punctuation; empty if nothing is left."""
    name = _SPACE.sub(" ", text).strip()
    name = _EDGE.sub("", _ARTICLE.sub("", _EDGE.sub("", name)))
    name = _EDGE.sub("", _POSSESSIVE.sub("", name))
    if "://" in name or not _SHORTEST <= len(name) <= _LONGEST or not any(map(str.isalpha, name)):
        return ""
    return name


def key_of(name: str) -> str:
    """Return the key that all forms of a name share."""
    return surface_of(name).casefold()


def singular(key: str, known: Container[str]) -> str:
    """Return the singular of a key if it is `known` as well, else the key itself."""
    if key.endswith("s") and key[:-1] in known:
        return key[:-1]
    if key.endswith("es") and key[:-2] in known:
        return key[:-2]
    return key
