"""`/v1/responses` over a WebSocket: each message is a request, whose events are messages.

A message is answered as the same request over HTTP with `stream`: with its authentication, limits,
log line and usage.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import msgspec
from heddle_runtime.identity.callers import home
from starlette.types import ASGIApp
from websockets.frames import CloseCode

from heddle_gateway.auth.browsers import HEADER as CSRF_HEADER
from heddle_gateway.auth.sessions import SessionCredential
from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.http.own_request import OwnRequest
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.http.websocket import WebSocket
from heddle_gateway.openai.conversations.turns import LastTurn
from heddle_gateway.state import State

PATHS = frozenset({"/v1/responses", "/responses"})
_SECONDS = 3600.0
"""The longest time of a connection, as OpenAI's."""
_LEFT_OUT = frozenset({b"connection", b"content-length", b"x-request-id", CSRF_HEADER.encode()})
_EXPIRED = ErrorResponse(
    400,
    f"The connection has reached its limit of {_SECONDS / 60:g} minutes. Open another one.",
    code="websocket_connection_limit_reached",
)
_ERROR = 400


async def converse(state: State, request: RawRequest, application: ASGIApp) -> None:
    """Answer the messages of a connection until the client leaves.

    Args:
        state: The gateway's.
        request: The request that opens the connection.
        application: Answers a message as a request over HTTP.

    Raises:
        HeddleError: The caller may not open it.
        RejectedRequestError: The request is no valid handshake.
    """
    await state.authenticator.admit(request, required=True)
    for admission in request.admissions:  # messages count, not the connection
        admission.end()
    request.admissions = ()
    # A browser lets pages of all sites open connections with the cookies of a user.
    state.browsers.check_page(request)
    assert request.credential is not None  # noqa: S101 - a credential was required
    identity, settings = request.credential.identity, state.settings
    caller = home(identity), identity.subject, identity.client_user
    state.sockets.check(caller, stopping=state.stopping)
    socket = WebSocket(request, settings.max_body_bytes)
    state.sockets[socket] = caller
    loop = asyncio.get_running_loop()
    end = loop.time() + _SECONDS
    timer = loop.call_at(end, socket.finish)
    last_turn, timeout = LastTurn(), float(settings.idle_timeout_seconds)
    silence = min(settings.keep_alive_seconds, timeout / 3)
    code, reason = CloseCode.INTERNAL_ERROR, "The gateway failed."
    try:
        async with aclosing(socket.messages(silence, timeout)) as messages:
            async for message in messages:
                await _answer(request, socket, application, message, last_turn)
        if loop.time() >= end:
            await socket.send(_event(_EXPIRED.status, _EXPIRED.json()))
        code, reason = CloseCode.GOING_AWAY, "Open another connection."
    finally:
        timer.cancel()
        del state.sockets[socket]
        await socket.close(code, reason)


async def _answer(
    request: RawRequest,
    socket: WebSocket,
    application: ASGIApp,
    message: bytes,
    last_turn: LastTurn,
) -> None:
    """Answer a message."""
    headers = [each for each in request.scope["headers"] if each[0] not in _LEFT_OUT]
    if isinstance(request.credential, SessionCredential):
        # The page is the gateway's own, and no page can send headers with messages.
        token = request.credential.session.csrf_token
        headers.append((CSRF_HEADER.encode(), token.encode()))
    await _Message(socket, message).post(application, request.scope, headers, last_turn=last_turn)


class _Message(OwnRequest):
    """A message as a request, whose response's events become messages."""

    def __init__(self, socket: WebSocket, message: bytes) -> None:
        super().__init__(message)
        self._socket = socket

    def watch(self, on_disconnect: Callable[[], None]) -> None:
        """Call `on_disconnect` if the client leaves."""
        self._socket.on_close = on_disconnect

    def release(self) -> None:
        """Stop watching."""
        self._socket.on_close = None

    async def take(self, part: bytes) -> None:
        """Send the events of a response, or its error as one."""
        if self.status >= _ERROR:
            await self._socket.send(_event(self.status, part))
            return
        for frame in part.split(b"\n\n"):
            _, data, event = frame.partition(b"\ndata: ")
            if data:  # else it is a comment, of which clients of messages need none
                await self._socket.send(event)


def _event(status: int, body: bytes) -> bytes:
    """Return the body of an error response as an event."""
    error = msgspec.json.decode(body)["error"]
    error["code"] = error["code"] or error["type"]
    return msgspec.json.encode({"type": "error", "status": status, "error": error})
