"""`/mcp`: Heddle's own tools, for clients of the Model Context Protocol."""

import asyncio
import importlib
from typing import TYPE_CHECKING

from heddle_runtime.errors import PermissionDeniedError

from heddle_gateway.http.body import read_body
from heddle_gateway.http.disconnect import End, EndedError
from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.openai.chat import completions

if TYPE_CHECKING:
    from heddle_gateway.state import State

_SERVER = "heddle_gateway.mcp.server"
_ANY = "*"
_JSON = "application/json"


async def serve(state: "State", exchange: RawRequest) -> ErrorResponse | None:
    """Answer `POST /mcp`: one message of a client. There are no sessions between messages."""
    _keep_web_pages_out(state, exchange)
    if exchange.header("content-type").partition(";")[0].strip().lower() != _JSON:
        message = f"The body must be JSON, with the header 'Content-Type: {_JSON}'."
        raise RejectedRequestError(ErrorResponse(415, message, code="unsupported_media_type"))
    settings = state.settings
    body = await read_body(exchange, settings.max_body_bytes, settings.body_timeout)
    completions.refuse_if_busy(state)
    # The SDK takes a second and 20 MB, which not every installation has a use for.
    sdk = await asyncio.to_thread(importlib.import_module, _SERVER)
    try:
        with state.running.watching(exchange) as lifeline:
            await sdk.answer(state, exchange, body, lifeline)
    except EndedError as error:
        exchange.gone = error.end is End.CLIENT_GONE
        if exchange.gone:
            return None
        if exchange.status == 0:
            return completions.stopped()
        if not exchange.connection.response_complete:
            await exchange.write(b"", last=True)
    return None


def _keep_web_pages_out(state: "State", exchange: RawRequest) -> None:
    """Refuse pages of sites that nobody listed, as MCP demands of every server.

    Raises:
        PermissionDeniedError: It is one.
    """
    origin = exchange.header("origin")
    allowed = state.settings.cors_origins
    if origin and origin not in allowed and _ANY not in allowed:
        raise PermissionDeniedError(
            f"Web pages of {origin[:200]!r} may not call this. HEDDLE_GATEWAY_CORS_ORIGINS lists "
            "those that may."
        )
