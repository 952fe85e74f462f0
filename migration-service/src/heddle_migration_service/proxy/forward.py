"""Sends requests to LAMB, and its responses to the clients."""

from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

import httpx
import structlog
from heddle_gateway.http.disconnect import RunningRequests
from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError, from_exception
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.settings import GatewaySettings
from heddle_runtime.errors import HeddleError
from heddle_runtime.telemetry import log_fields
from starlette.types import Scope

from heddle_migration_service.proxy.client import LambClient
from heddle_migration_service.proxy.failures import BusyError, LambError
from heddle_migration_service.proxy.request_head import RequestHeads
from heddle_migration_service.proxy.response_head import response_headers, switching_head
from heddle_migration_service.proxy.settings import LambSettings
from heddle_migration_service.proxy.targets import LambPaths
from heddle_migration_service.proxy.tunnel import relay
from heddle_migration_service.proxy.upload import Upload, UploadError, too_large
from heddle_migration_service.rest.chat import CREATOR_PATH

log = structlog.get_logger(__name__)
_SWITCHING_PROTOCOLS = 101


class LambProxy:
    """Serves the requests that are LAMB's."""

    def __init__(
        self,
        settings: LambSettings,
        gateway: GatewaySettings,
        running: RunningRequests,
        paths: Iterable[str],
        is_own_key: Callable[[str], bool],
    ) -> None:
        """Prepare.

        Args:
            settings: They name LAMB.
            gateway: Settings of the gateway.
            running: The requests of the gateway.
            paths: Of the routes that Heddle serves.
            is_own_key: Whether the value of `Authorization` is a key that LAMB must not get.
        """
        self._settings = settings
        self._idle_seconds = float(gateway.idle_timeout_seconds)
        self._running = running
        self._paths = LambPaths(paths, CREATOR_PATH if settings.chats == "heddle" else "")
        self._heads = RequestHeads(
            urlsplit(settings.url).netloc.encode("ascii"),
            gateway.trusted_proxies,
            gateway.public_url,
            is_own_key,
        )
        self._client = LambClient(settings.url, settings.timeout_seconds)
        self._requests = 0

    def includes(self, scope: Scope) -> bool:
        """Return whether LAMB answers the request of an ASGI scope."""
        return self._paths.include(scope)

    async def serve(self, request: RawRequest) -> None:
        """Answer a request with LAMB's response.

        Raises:
            ClientGoneError: The client has disconnected.
        """
        limit = self._settings.max_connections
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
        limit = self._settings.max_body_bytes
        if head.length is not None and head.length > limit:
            raise RejectedRequestError(too_large(request, limit))
        upload = Upload(request, limit, self._idle_seconds)
        async with self._client.send(head, upload, trace=upload.trace) as response:
            await self._respond(request, response)

    async def _respond(self, request: RawRequest, response: httpx.Response) -> None:
        if response.status_code == _SWITCHING_PROTOCOLS:
            switching = switching_head(response, request.request_id)
            await relay(request, response, switching, self._settings.timeout_seconds)
            return
        headers = response_headers(response)
        if any(name == b"date" for name, _ in headers):
            request.connection.omit_default_headers()
        await request.start(response.status_code, tuple(headers))
        request.connection.flush()
        async for part in response.aiter_raw():
            await request.write(part)
        await request.write(b"", last=True)


async def _answer(request: RawRequest, error: ErrorResponse) -> None:
    """Send an error; if the response has begun, cut it, so that the client notices."""
    log_fields.add_failure((error.code or error.type).upper(), {})
    if request.connection.response_started:
        request.failed_status = error.status
        request.connection.abort()
    else:
        message = error.with_request_id(request.request_id)
        await request.respond(message.response(detail=True))
