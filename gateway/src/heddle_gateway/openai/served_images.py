"""Images that links lead to: `/v1/pictures`, which models generated, and pages of documents."""

from typing import Annotated

from heddle.connector.v1.connector_pb2 import GetGeneratedImageRequest
from heddle.knowledge.v1.knowledge_pb2 import GetPagePictureRequest, GetPagePictureResponse
from heddle_runtime.errors import NotFoundError
from pydantic import Field
from starlette.responses import Response

from heddle_gateway.http.headers import own_address
from heddle_gateway.http.models import identifier
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.openai.chat.run_events import image_path
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.services import call
from heddle_gateway.state import State

_SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
}
# An image needs a key, so it must not be in shared caches, nor serve requests of another key in the
# same browser.
_UNCHANGING = {
    # A name is never used twice.
    "cache-control": "private, max-age=31536000, immutable",
    "vary": "authorization",
}
_REVALIDATED = {
    # A new version of the document has other pages at the same address, and permissions can end.
    "cache-control": "private, no-cache",
    "vary": "authorization",
}
_MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_MAX_PAGES = 1_000_000
_PATTERN = "^[A-Za-z0-9._-]+$"
_HEX = "0f1e2d3c" * 4
ImageName = Annotated[
    str, identifier("The last part of the image's address.", f"{_HEX}.png", pattern=_PATTERN)
]
CollectionId = Annotated[
    str, identifier("The collection's id or name.", f"vs_{_HEX}", pattern=_PATTERN)
]
DocumentId = Annotated[str, identifier("The document's id.", f"doc_{_HEX}", pattern=_PATTERN)]
PageNumber = Annotated[
    str,
    Field(
        description="The page, counted from 1.",
        examples=[1],
        json_schema_extra={"type": "integer", "minimum": 1},
    ),
]
routes = Routes("completions")


@routes.get("/v1/pictures/{name}", content=_MEDIA_TYPES, errors=(404, 409, 422, 502))
async def get_image(api: Call, name: ImageName) -> Response:
    """Get an image that a model generated for the owner of the key.

    New images of a person replace the oldest.
    """
    request = GetGeneratedImageRequest(name=name)
    image = (await call(api.services.connectors.GetGeneratedImage, request)).image
    headers = {"content-type": image.media_type, **_SAFE_HEADERS, **_UNCHANGING}
    return Response(image.data, headers=headers)


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
    return picture_response(api, await call(api.services.knowledge.GetPagePicture, request))


def picture_response(api: Call, image: GetPagePictureResponse) -> Response:
    """Return the response with the picture of a page."""
    api.set_etag(image.sha256)
    if api.knows(image.sha256):
        return Response(b"", 304, _REVALIDATED)
    headers = {"content-type": image.media_type, **_SAFE_HEADERS, **_REVALIDATED}
    return Response(image.data, headers=headers)


def link(state: State, request: RawRequest, name: str) -> str:
    """Return the address of a generated image for the client of a request."""
    address = own_address(
        state.settings.public_url, request.scope["scheme"], request.header("host")
    )
    return address + image_path(name)


def _number(text: str) -> int:
    """Return the number of a page; any other text is a page that does not exist."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(_MAX_PAGES))
    if is_number and 1 <= (number := int(text)) <= _MAX_PAGES:
        return number
    raise NotFoundError(f"There is no page {text[:20]!r}. Pages are counted from 1.")
