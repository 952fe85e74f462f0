"""`/v1/pictures`: images that models generated."""

import re
from typing import Annotated

from heddle.connector.v1.connector_pb2 import GetGeneratedImageRequest
from starlette.responses import Response

from heddle_gateway.http.models import identifier
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.openai.chat.run_events import image_path
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call
from heddle_gateway.state import State

SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
}
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")
_CACHE_HEADERS = {
    # A name is never used twice, so its content does not change. It needs a key, so it must not
    # be in shared caches, nor serve requests of another key in the same browser.
    "cache-control": "private, max-age=31536000, immutable",
    "vary": "authorization",
}
_MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
routes = Routes("completions")
_EXAMPLE = f"{'0f1e2d3c' * 4}.png"
ImageName = Annotated[
    str,
    identifier("The last part of the image's address.", _EXAMPLE, pattern="^[A-Za-z0-9._-]+$"),
]


@routes.get("/v1/pictures/{name}", content=_MEDIA_TYPES, errors=(404, 409, 422, 502))
async def get_image(api: Call, name: ImageName) -> Response:
    """Get an image that a model generated for the owner of the key.

    New images of a person replace the oldest.
    """
    request = GetGeneratedImageRequest(name=name)
    image = (await call(api.services.connectors.GetGeneratedImage, request)).image
    return Response(
        image.data, headers={"content-type": image.media_type, **SAFE_HEADERS, **_CACHE_HEADERS}
    )


def link(state: State, request: RawRequest, name: str) -> str:
    """Return the address of an image for the client of a request."""
    if base := state.settings.public_url:
        return base.rstrip("/") + image_path(name)
    host = request.header("host")
    if not _HOST.fullmatch(host):
        return image_path(name)
    return f"{request.scope['scheme']}://{host}{image_path(name)}"
