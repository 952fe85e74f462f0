"""Pictures that models made, and where clients find them."""

import re
from typing import TYPE_CHECKING

from heddle.connector.v1.connector_pb2 import GetPictureRequest

from heddle_gateway.http.headers import Headers
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai.chat.run_events import here
from heddle_gateway.services import ask

if TYPE_CHECKING:
    from heddle_gateway.state import State

TIMEOUT = 15.0
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")
_HEADERS: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
    # A name is never given twice, so what it stands for does not change. Behind a key it is not
    # for caches that several people share, nor for another key's request in the same browser.
    (b"cache-control", b"private, max-age=31536000, immutable"),
    (b"vary", b"authorization"),
)


async def picture(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /v1/pictures/{name}`."""
    request = GetPictureRequest(name=exchange.parameter)
    found = (await ask(state.services.connectors.GetPicture, request, TIMEOUT)).picture
    return RawResponse(200, found.data, ((b"content-type", found.media_type.encode()), *_HEADERS))


def link(state: "State", exchange: RawRequest, name: str) -> str:
    """Return where the client of a request finds a picture."""
    if base := state.settings.public_url:
        return base.rstrip("/") + here(name)
    host = exchange.header("host")
    if not _HOST.fullmatch(host):
        return here(name)
    return f"{exchange.scope['scheme']}://{host}{here(name)}"
