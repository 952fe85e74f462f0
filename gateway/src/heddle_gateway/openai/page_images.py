"""Images of the pages of documents, so that a citation opens its page."""

from typing import Annotated

from heddle.knowledge.v1.knowledge_pb2 import GetPagePictureRequest
from heddle_runtime.errors import NotFoundError
from pydantic import Field
from starlette.responses import Response

from heddle_gateway.http.models import identifier
from heddle_gateway.openai.generated_images import SAFE_HEADERS
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.services import call

_MAX_PAGES = 1_000_000
_CACHE_HEADERS = {
    # A new version of the document has other pages at the same address, and permissions can end:
    # browsers store the image and revalidate it for each use.
    "cache-control": "private, no-cache",
    "vary": "authorization",
}
_PATTERN = "^[A-Za-z0-9._-]+$"
routes = Routes("completions")
_COLLECTION, _DOCUMENT = f"vs_{'0f1e2d3c' * 4}", f"doc_{'0f1e2d3c' * 4}"
CollectionId = Annotated[
    str, identifier("The collection's id or name.", _COLLECTION, pattern=_PATTERN)
]
DocumentId = Annotated[str, identifier("The document's id.", _DOCUMENT, pattern=_PATTERN)]
PageNumber = Annotated[
    str,
    Field(
        description="The page, counted from 1.",
        examples=[1],
        json_schema_extra={"type": "integer", "minimum": 1},
    ),
]


@routes.get(
    "/v1/vector_stores/{id}/files/{file}/pages/{page}",
    content=("image/webp",),
    headers=ETAG,
    responses={304: None},
    errors=(400, 404),
)
async def get_page(api: Call, id_: CollectionId, file: DocumentId, page: PageNumber) -> Response:
    """Get the image of a page of a document, for those who may search its collection."""
    request = GetPagePictureRequest(collection=id_, document=file, page=_number(page))
    image = await call(api.services.knowledge.GetPagePicture, request)
    api.set_etag(image.sha256)
    if api.knows(image.sha256):
        return Response(b"", 304, _CACHE_HEADERS)
    return Response(
        image.data, headers={"content-type": image.media_type, **SAFE_HEADERS, **_CACHE_HEADERS}
    )


def _number(text: str) -> int:
    """Return the number of a page; any other text is a page that does not exist."""
    if text.isascii() and text.isdecimal() and 1 <= (number := int(text[:12])) <= _MAX_PAGES:
        return number
    raise NotFoundError(f"There is no page {text[:20]!r}. Pages are counted from 1.")
