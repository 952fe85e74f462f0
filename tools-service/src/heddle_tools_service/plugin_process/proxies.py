"""Proxies of the capabilities in a plugin's process. The service carries out their methods."""

import asyncio
import json
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import cache, partial
from typing import Any

import httpx
from heddle_runtime.http.guarded_http import new_client

from heddle_tools_service.capabilities.small_model import Generate, SmallModel
from heddle_tools_service.definitions.capability_injection import Capabilities
from heddle_tools_service.sdk import ToolCall, ToolError, ToolUnavailableError
from heddle_tools_service.workers import frames
from heddle_tools_service.workers.interfaces import (
    Http,
    HttpAnswer,
    Method,
    decoded,
    encoded,
    methods_of,
    name_of,
)

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


RUN: ContextVar[int] = ContextVar("heddle_plugin_run")
"""The number of the tool call that runs in this context."""


class Connection:
    """Calls methods of capabilities in the service."""

    def __init__(self, send: Callable[[frames.FromPlugin], None]) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._pending: dict[int, asyncio.Future[bytes]] = {}
        self._last = 0

    async def call(self, called: Callable[[int], frames.Called]) -> bytes:
        """Return the result of a method.

        Args:
            called: Returns the call with its number.

        Raises:
            ToolError: What the capability raises.
        """
        self._last += 1
        number = self._last
        future: asyncio.Future[bytes] = self._loop.create_future()
        self._pending[number] = future
        try:
            self._send(called(number))
            return await future
        finally:
            del self._pending[number]

    def resolve(self, returned: frames.Returned) -> None:
        """End a call with what the service returned."""
        future = self._pending.get(returned.id)
        if future is None or future.done():
            return
        if returned.error is not None:
            future.set_exception(_exception(returned.error))
        else:
            future.set_result(returned.value or b"null")


def capabilities(
    connection: Connection, kinds: Iterable[type], http_seconds: float
) -> Capabilities:
    """Return the capabilities that a plugin may request.

    Args:
        connection: Carries their calls.
        kinds: What the service carries out.
        http_seconds: How long a tool waits for another server.
    """
    http = partial(_proxy, connection, Http)
    loop = asyncio.get_running_loop()
    use_for_all_clients(http, loop)

    proxied = {kind: lambda _, kind=kind: _proxy(connection, kind) for kind in kinds}

    def model(call: ToolCall[Any, Any]) -> SmallModel:
        generate = proxied.get(Generate)
        return SmallModel(generate(call) if generate else None, call.seconds)

    client = new_client(http_seconds)
    return Capabilities({**proxied, SmallModel: model, httpx.AsyncClient: lambda _: client})


def _proxy(connection: Connection, kind: type) -> Any:  # noqa: ANN401 - an object like `kind`
    run = RUN.get(None)
    if run is None:
        message = f"{kind.__name__} can be used only while a tool is called."
        raise ToolError(message)
    return _class(kind)(connection, run, name_of(kind))


class _Proxy:
    def __init__(self, connection: Connection, run: int, capability: str) -> None:
        self._connection = connection
        self._run = run
        self._capability = capability

    async def _call(self, name: str, method: Method, arguments: bytes) -> Any:  # noqa: ANN401 - the method's result
        value = await self._connection.call(
            lambda number: frames.Called(number, self._run, self._capability, name, arguments)
        )
        return decoded(value, method.result)


@cache
def _class(kind: type) -> type[_Proxy]:
    members = {name: _method(name, method) for name, method in methods_of(kind).items()}
    return type(kind.__name__, (_Proxy,), members)


def _method(name: str, method: Method) -> Callable[..., Any]:
    _, *names = method.signature.parameters

    async def call(proxy: _Proxy, *args: object, **kwargs: object) -> Any:  # noqa: ANN401 - as above
        bound = method.signature.bind(proxy, *args, **kwargs).arguments
        arguments = method.arguments(**{each: bound[each] for each in names if each in bound})
        return await proxy._call(name, method, encoded(arguments))  # noqa: SLF001 - a method of it

    return call


def _exception(error: frames.CapabilityError) -> ToolError:
    kind = ToolUnavailableError if error.unavailable else ToolError
    return kind(error.message, kind=error.kind, details=json.loads(error.details))
