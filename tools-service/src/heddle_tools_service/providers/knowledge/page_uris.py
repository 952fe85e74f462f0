"""Addresses of the pictures of pages at the gateway."""

import re
from dataclasses import dataclass

_ADDRESS = re.compile(
    r"(?:https?://[^/\s]+)?/v1/vector_stores/(vs_[0-9a-f]{32})/files/(doc_[0-9a-f]{32})"
    r"/pages/([1-9][0-9]{0,6})"
)


@dataclass(frozen=True, slots=True)
class PageAddress:
    """The page that an address names, by the identifiers that callers know."""

    collection: str
    document: str
    page: int


def picture_uri(collection: str, document: str, page: int) -> str:
    """Return the address of a page's picture, relative to the gateway.

    Args:
        collection: The identifier of the collection.
        document: The identifier of the document.
        page: Counted from 1.
    """
    return f"/v1/vector_stores/{collection}/files/{document}/pages/{page}"


def read_uri(uri: str) -> PageAddress | None:
    """Return the page of an address; None if it names none. The host makes no difference."""
    match = _ADDRESS.fullmatch(uri.strip())
    return PageAddress(match[1], match[2], int(match[3])) if match else None
