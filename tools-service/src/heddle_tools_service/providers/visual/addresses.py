"""Where the gateway serves the picture of a page, and which page an address is of."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heddle_knowledge.names import document_id

if TYPE_CHECKING:
    from heddle_knowledge.records import Collection

_ADDRESS = re.compile(
    r"(?:https?://[^/\s]+)?/v1/vector_stores/(vs_[0-9a-f]{32})/files/(doc_[0-9a-f]{32})"
    r"/pages/([1-9][0-9]{0,6})"
)


@dataclass(frozen=True, slots=True)
class Address:
    """The page that an address names, by the identifiers that callers know."""

    collection: str
    document: str
    page: int


def picture_uri(collection: "Collection", document: str, page: int) -> str:
    """Return the address of a page's picture, relative to the gateway."""
    file = document_id(collection.id, document)
    return f"/v1/vector_stores/{collection.public_id}/files/{file}/pages/{page}"


def read_uri(uri: str) -> Address | None:
    """Return which page an address is of, None if it is of none. Its host makes no difference."""
    found = _ADDRESS.fullmatch(uri.strip())
    return Address(found[1], found[2], int(found[3])) if found else None
