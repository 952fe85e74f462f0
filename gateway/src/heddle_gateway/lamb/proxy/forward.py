"""Sends requests to LAMB, and its responses to the clients."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

import structlog
from heddle_runtime import log_fields
from heddle_runtime.errors import HeddleError
from starlette.types import Scope

from heddle_gateway.http.disconnect import RunningRequests
from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError, from_exception
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.lamb.proxy.connection import LambConnection
from heddle_gateway.lamb.proxy.failures import BusyError, CutError, GarbledError, LambError
from heddle_gateway.lamb.proxy.origin import origin_of_url
from heddle_gateway.lamb.proxy.pool import Pool
from heddle_gateway.lamb.proxy.request_head import RequestHead, RequestHeads
from heddle_gateway.lamb.proxy.response_head import response_headers, switching_head
from heddle_gateway.lamb.proxy.targets import LambPaths
from heddle_gateway.lamb.proxy.tunnel import Tunnel
from heddle_gateway.lamb.proxy.upload import Upload, UploadError, too_large
from heddle_gateway.openai.chat.completions import CREATOR_PATH
from heddle_gateway.settings import GatewaySettings

log = structlog.get_logger(__name__)
_SWITCHING_PROTOCOLS = 101


class LambProxy:
    """Serves the requests that are LAMB's."""

    def __init__(
        self, settings: GatewaySettings, running: RunningRequests, paths: Iterable[str]
    ) -> None:
        """Prepare.

        Args:
            settings: Of the gateway; they name LAMB.
            running: The requests of the gateway.
            paths: Of the routes that Heddle serves.
        """
        origin = origin_of_url(settings.lamb_url)
        self._settings = settings
        self._running = running
        self._paths = LambPaths(paths, CREATOR_PATH if settings.lamb_chats == "heddle" else "")
        self._heads = RequestHeads(origin.authority, settings.trusted_proxies, settings.public_url)
        self._pool = Pool(origin, settings.lamb_timeout_seconds)
        self._requests = 0

    def includes(self, scope: Scope) -> bool:
        """Return whether LAMB answers the request of an ASGI scope."""
        return self._paths.include(scope)

    def close(self) -> None:
        """Close the connections that serve no request, and others after theirs."""
        self._pool.close()

    async def serve(self, request: RawRequest) -> None:
        """Answer a request with LAMB's response.

        Raises:
            ClientGoneError: The client has disconnected.
        """
        limit = self._settings.lamb_max_connections
        self._requests += 1
        try:
            if self._requests > limit:
                raise BusyError(limit)
            with self._running.watch(request):
                await self._exchange(request)
        except UploadError as error:
            await _answer(request, error.response)
        except LambError as error:
            log.warning("LAMB failed", request=request.request_id, cause=str(error))
            await _answer(request, error.response)
        except (RejectedRequestError, HeddleError) as error:
            await _answer(request, from_exception(error))
        finally:
            self._requests -= 1

    async def _exchange(self, request: RawRequest) -> None:
        head = self._heads.make(request)
        limit = self._settings.lamb_max_body_bytes
        if head.length is not None and head.length > limit:
            raise RejectedRequestError(too_large(request, limit))
        if request.connection.request_complete:
            body = request.connection.take_body()
            if len(body) > limit:
                raise RejectedRequestError(too_large(request, limit))
            await self._ask(request, head, body)
            return
        connection = await self._pool.open()
        upload = Upload(request, connection, limit, float(self._settings.idle_timeout_seconds))
        connection.begin(head.streamed(), method_is_head=head.method == "HEAD")
        task = asyncio.create_task(upload.run(chunked=head.length is None))
        try:
            await connection.head()
            await self._respond(request, head, connection)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            connection.close()

    async def _ask(self, request: RawRequest, head: RequestHead, body: bytes) -> None:
        """Send a request with its whole body, and answer it.

        A connection that has waited may have been closed by LAMB while the request was on its
        way. What may be repeated is sent again then.
        """
        connection = self._pool.waiting() or await self._pool.open()
        try:
            connection.begin(head.whole(body), method_is_head=head.method == "HEAD")
            try:
                await connection.head()
            except CutError:
                if not (head.repeatable and connection.reused) or connection.received:
                    raise
                connection = await self._pool.open()
                connection.begin(head.whole(body), method_is_head=head.method == "HEAD")
                await connection.head()
            await self._respond(request, head, connection)
        finally:
            self._pool.give_back(connection)

    async def _respond(
        self, request: RawRequest, head: RequestHead, connection: LambConnection
    ) -> None:
        if connection.status == _SWITCHING_PROTOCOLS:
            if not head.is_upgrade:
                raise GarbledError("it changes the protocol, which the client has not offered")
            await self._tunnel(request, connection)
            return
        headers = response_headers(connection)
        if any(name == b"date" for name, _ in headers):
            request.connection.omit_default_headers()
        await request.start(connection.status, tuple(headers))
        if connection.waits_for_body:
            request.connection.flush()
        last = False
        while not last:
            body, last = await connection.read()
            await request.write(body, last=last)

    async def _tunnel(self, request: RawRequest, connection: LambConnection) -> None:
        """Hand on bytes in both directions until one side closes."""
        tunnel = Tunnel(self._settings.lamb_timeout_seconds)
        head = switching_head(connection, request.request_id)
        transport, received = connection.upgrade(tunnel.lamb)
        tunnel.lamb.connection_made(transport)
        try:
            client = request.connection.take_over(tunnel.client, head)
            if client is None:
                raise GarbledError("the client has sent more than its request")
            request.status = _SWITCHING_PROTOCOLS
            tunnel.client.connection_made(client)
            tunnel.client.send(received)
            await tunnel.run()
        finally:
            tunnel.end()


async def _answer(request: RawRequest, error: ErrorResponse) -> None:
    """Send an error; if the response has begun, cut it, so that the client notices."""
    log_fields.add_failure((error.code or error.type).upper(), {})
    if request.connection.response_started:
        request.failed_status = error.status
        request.connection.abort()
    else:
        message = error.with_request_id(request.request_id)
        await request.respond(message.response(detail=True))
