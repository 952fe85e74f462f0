"""Addresses of the pictures of pages at the gateway."""

import re

from heddle_tools_service.sdk import ToolError

NO_PAGE = "There is no such page among those that this assistant may see."
_ADDRESS = re.compile(
    r"(?:https?://[^/\s]+)?/v1/vector_stores/(vs_[0-9a-f]{32})/files/(doc_[0-9a-f]{32})"
    r"/pages/([1-9][0-9]{0,6})"
)


def picture_uri(collection: str, document: str, page: int) -> str:
    """Return the address of a page's picture, relative to the gateway.

    Args:
        collection: The identifier of the collection.
        document: The identifier of the document.
        page: Counted from 1.
    """
    return f"/v1/vector_stores/{collection}/files/{document}/pages/{page}"


def page_of(uri: str) -> tuple[str, str, int]:
    """Return the collection, the document and the page of an address, whatever its host.

    Raises:
        ToolError: It names no page.
    """
    match = _ADDRESS.fullmatch(uri.strip())
    if match is None:
        raise ToolError(NO_PAGE, kind="no_such_page")
    return match[1], match[2], int(match[3])
