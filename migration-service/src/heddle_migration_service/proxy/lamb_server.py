"""What the gateway itself asks LAMB: whether it is there, and whether a password is right."""

import asyncio
from collections.abc import Callable, Iterable
from urllib.parse import urlencode, urlsplit

import httpx
import msgspec
import structlog
from heddle_gateway.http.disconnect import RunningRequests
from heddle_gateway.services import CHECK_SECONDS
from heddle_gateway.settings import GatewaySettings
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import UnavailableError

from heddle_migration_service.proxy.client import LambClient
from heddle_migration_service.proxy.failures import GarbledError, LambError
from heddle_migration_service.proxy.forward import LambProxy
from heddle_migration_service.proxy.request_head import RequestHead
from heddle_migration_service.proxy.settings import LambSettings

log = structlog.get_logger(__name__)
PATH = b"/creator/login"
_SECONDS = 10.0
MAX_RESPONSE_BYTES = 64 * 1024
_OK = 200
_REFUSALS = {400, 401, 403, 422}


class _User(msgspec.Struct):
    email: str


class _Response(msgspec.Struct):
    """What LAMB's login returns, as far as it matters here. The token is not read."""

    success: bool
    data: _User | None = None


class LambServer:
    """LAMB, in front of which the gateway is. Passwords are checked with the login of its pages."""

    name = "lamb"
    title = "LAMB"

    def __init__(self, settings: LambSettings, gateway: GatewaySettings) -> None:
        """Prepare.

        Args:
            settings: They name LAMB.
            gateway: Settings of the gateway.
        """
        self._settings = settings
        self._gateway = gateway
        self._authority = urlsplit(settings.url).netloc.encode("ascii")
        self._client = LambClient(settings.url, _SECONDS)
        self._decoder = msgspec.json.Decoder(_Response)

    async def accepts(self, email: str, password: str, client: str) -> bool:
        """Return whether a password is that of the user of an address in LAMB.

        Args:
            email: The address.
            password: The password.
            client: The address of the client in the network, for LAMB.

        Raises:
            UnavailableError: LAMB does not say so.
        """
        try:
            async with asyncio.timeout(_SECONDS):
                response = await self._ask(email, password, client)
        except (LambError, TimeoutError) as error:
            log.warning("LAMB cannot check a password", cause=str(error) or "it takes too long")
            message = "LAMB cannot check the password at the moment. Try again."
            raise UnavailableError(message, retry_after=2.0) from error
        if not response.success or response.data is None:
            return False
        return canonical_email(response.data.email) == canonical_email(email)

    async def problem(self) -> str:
        """Return why LAMB cannot be reached, with the remedy; empty if it can."""
        host, port, tls = self._client.host, self._client.port, self._client.tls
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                _, writer = await asyncio.open_connection(host, port, ssl=tls)
        except (OSError, TimeoutError):
            return (
                f"accepts no connection at {host}:{port}. Check that LAMB runs, and "
                "HEDDLE_LAMB_URL."
            )
        writer.transport.abort()
        return ""

    def forwarder(
        self, running: RunningRequests, paths: Iterable[str], is_own_key: Callable[[str], bool]
    ) -> LambProxy:
        """Return what sends requests to LAMB."""
        return LambProxy(self._settings, self._gateway, running, paths, is_own_key)

    async def _ask(self, email: str, password: str, client: str) -> _Response:
        body = urlencode({"email": email, "password": password}).encode()
        headers = [
            (b"host", self._authority),
            (b"accept", b"application/json"),
            (b"content-type", b"application/x-www-form-urlencoded"),
            (b"x-forwarded-for", client.encode() or b"unknown"),
            (b"content-length", b"%d" % len(body)),
        ]
        head = RequestHead("POST", PATH, headers, len(body))
        try:
            async with self._client.send(head, httpx.ByteStream(body)) as response:
                return self._decoder.decode(await _body(response))
        except msgspec.MsgspecError as error:
            raise GarbledError(f"its login returns something else: {error}") from error


async def _body(response: httpx.Response) -> bytes:
    """Return the body of a response. A refusal with an error status is a refusal, too."""
    body = b""
    async for part in response.aiter_raw():
        body += part
        if len(body) > MAX_RESPONSE_BYTES:
            raise GarbledError(f"its login returns more than {MAX_RESPONSE_BYTES} bytes")
    if response.status_code in _REFUSALS:
        return b'{"success":false}'
    if response.status_code != _OK:
        raise GarbledError(f"its login returns the status {response.status_code}")
    return body
