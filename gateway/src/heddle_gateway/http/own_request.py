"""A request that the gateway makes to itself, as the server would: with limits and a log line."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from starlette.types import ASGIApp, Message, Scope


class OwnRequest:
    """What a request has as its connection, and its response."""

    request_complete = True

    def __init__(self, body: bytes) -> None:
        """Prepare a request with a body."""
        self._body = body
        self.response_complete = False
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.parts: list[bytes] = []

    def take_body(self) -> bytes:
        """Return the body of the request."""
        return self._body

    def respond(self, *_: object) -> bool:
        """Return that a whole response is sent in parts."""
        return False

    def watch(self, on_disconnect: Callable[[], None]) -> None:
        """Call `on_disconnect` if the client leaves."""

    def release(self) -> None:
        """Stop watching."""

    async def send(self, message: Message) -> None:
        """Take a part of the response."""
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
            return
        self.response_complete = not message.get("more_body", False)
        await self.take(message["body"])

    async def take(self, part: bytes) -> None:
        """Take a part of the response's body."""
        self.parts.append(part)

    async def post(
        self,
        application: ASGIApp,
        scope: Scope,
        headers: Sequence[tuple[bytes, bytes]],
        **state: Any,  # noqa: ANN401 - what the application reads
    ) -> None:
        """Send the request with a context of its own, as a `POST` to the path of a scope."""
        members = {"connection": self, **state}
        complete = {**scope, "method": "POST", "headers": [*headers], "state": members}
        await asyncio.create_task(application(complete, _nothing, self.send))  # type: ignore[arg-type] # a coroutine


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
