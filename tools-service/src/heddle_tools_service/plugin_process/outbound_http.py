"""Sends HTTP requests of plugins through the service, to addresses that the operator permits."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx

from heddle_tools_service.sdk import ToolError
from heddle_tools_service.workers.interfaces import Http, HttpAnswer

_HOP_BY_HOP = {"connection", "transfer-encoding", "content-length"}
_DEFAULT_SECONDS = 5.0
_CALL_FROM_LOOP = (
    "An async tool cannot send a request with a client that is not async. Use httpx.AsyncClient."
)


def use_for_all_clients(http: Callable[[], Http], loop: asyncio.AbstractEventLoop) -> None:
    """Let the service send the requests of all clients of httpx that plugins create."""

    async def send(_: object, request: httpx.Request) -> httpx.Response:
        return await _send(http, request, await request.aread())

    def send_from_thread(_: object, request: httpx.Request) -> httpx.Response:
        if _runs_here(loop):
            raise httpx.ConnectError(_CALL_FROM_LOOP, request=request)
        body = request.read()
        return asyncio.run_coroutine_threadsafe(_send(http, request, body), loop).result()

    httpx.AsyncHTTPTransport.handle_async_request = send  # type: ignore[method-assign, assignment] # for plugins that know only httpx
    httpx.HTTPTransport.handle_request = send_from_thread  # type: ignore[method-assign, assignment] # likewise


async def _send(http: Callable[[], Http], request: httpx.Request, body: bytes) -> httpx.Response:
    try:
        answer = await http().send(
            request.method, str(request.url), request.headers.multi_items(), body, _seconds(request)
        )
    except ToolError as error:
        kind: Any = getattr(httpx, error.kind, httpx.ConnectError)
        raise kind(str(error), request=request) from None
    return _response(answer, request)


def _response(answer: HttpAnswer, request: httpx.Request) -> httpx.Response:
    headers = [each for each in answer.headers if each[0].lower() not in _HOP_BY_HOP]
    return httpx.Response(
        answer.status, headers=headers, stream=httpx.ByteStream(answer.body), request=request
    )


def _seconds(request: httpx.Request) -> float:
    timeout = request.extensions.get("timeout", {}).get("read")
    return _DEFAULT_SECONDS if timeout is None else float(timeout)


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
