"""The rules for names of collections and documents."""

import hashlib
import re
import unicodedata
from functools import lru_cache

from heddle_knowledge.errors import InvalidInputError

_COLLECTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_DOCUMENT_ID = re.compile(r"doc_[0-9a-f]{32}")
LONGEST_DOCUMENT_NAME = 512


def check_collection_name(name: str) -> None:
    """Refuse a collection name that is not 1 to 63 of `A-Za-z0-9_.-`, the first a letter or digit.

    Raises:
        InvalidInputError: Says the rule.
    """
    if not _COLLECTION.fullmatch(name):
        raise InvalidInputError(
            f"{_shown(name)} cannot name a collection: use 1 to 63 letters, digits, '_', '.' or "
            "'-', and begin with a letter or digit."
        )


def check_document_name(name: str) -> None:
    """Refuse a document name that is empty, over 512 characters, or holds control characters.

    Raises:
        InvalidInputError: Says the rule.
    """
    if not 1 <= len(name) <= LONGEST_DOCUMENT_NAME or not name.strip() or not is_printable(name):
        raise InvalidInputError(
            f"{_shown(name)} cannot name a document: use 1 to {LONGEST_DOCUMENT_NAME} characters, "
            "none of them a control character."
        )


@lru_cache(4_096)
def document_id(collection: str, name: str) -> str:
    """Return the identifier that a document has in every version.

    Args:
        collection: The id of the collection's record.
        name: The document's name.
    """
    return "doc_" + hashlib.sha256(f"{collection}/{name}".encode()).hexdigest()[:32]


def is_document_id(reference: str) -> bool:
    """Return whether a reference has the form of a document's identifier."""
    return _DOCUMENT_ID.fullmatch(reference) is not None


def is_printable(text: str) -> bool:
    """Return whether a text has no control characters and no lone surrogates."""
    return all(unicodedata.category(character) not in {"Cc", "Cs"} for character in text)


def _shown(name: str) -> str:
    longest = 80
    return repr(name if len(name) <= longest else name[:longest] + "…")
