"""Pictures of the pages of documents, so that a citation opens its page."""

from typing import TYPE_CHECKING

from heddle.knowledge.v1.knowledge_pb2 import GetPagePictureRequest
from heddle_runtime.errors import NotFoundError

from heddle_gateway.http import etags
from heddle_gateway.http.headers import Headers
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.services import ask

if TYPE_CHECKING:
    from heddle_gateway.state import State

_TIMEOUT = 15.0
_MOST_PAGES = 1_000_000
_CACHED: Headers = (
    # A new version of the document has other pages under the same address, and rights may end: a
    # browser keeps the picture, and asks each time whether it is still the one.
    (b"cache-control", b"private, no-cache"),
    (b"vary", b"authorization"),
)
_SAFE: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
)


async def picture(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /v1/vector_stores/{id}/files/{file}/pages/{page}`."""
    collection, document, page = exchange.parameters
    request = GetPagePictureRequest(collection=collection, document=document, page=_number(page))
    found = await ask(state.services.knowledge.GetPagePicture, request, _TIMEOUT)
    known = (*etags.header(found.sha256), *_CACHED)
    if etags.is_known(exchange, found.sha256):
        return RawResponse(304, b"", known)
    return RawResponse(
        200, found.data, ((b"content-type", found.media_type.encode()), *_SAFE, *known)
    )


def _number(text: str) -> int:
    """Return the number of a page; what is none stands for a page that there is not."""
    if text.isascii() and text.isdecimal() and 1 <= (number := int(text[:12])) <= _MOST_PAGES:
        return number
    raise NotFoundError(f"There is no page {text[:20]!r}. Pages are counted from 1.")
