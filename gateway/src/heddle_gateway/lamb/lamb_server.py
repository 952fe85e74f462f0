"""What the gateway itself asks LAMB: whether it is there, and whether a password is right."""

import asyncio
from urllib.parse import urlencode

import msgspec
import structlog
from heddle_runtime.email_address import canonical_email
from heddle_runtime.errors import UnavailableError

from heddle_gateway.lamb.proxy.connection import LambConnection
from heddle_gateway.lamb.proxy.failures import GarbledError, LambError
from heddle_gateway.lamb.proxy.origin import origin_of_url
from heddle_gateway.lamb.proxy.pool import Pool
from heddle_gateway.services import CHECK_SECONDS

log = structlog.get_logger(__name__)
PATH = "/creator/login"
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

    def __init__(self, url: str) -> None:
        """Prepare.

        Args:
            url: The address of LAMB.
        """
        self._origin = origin_of_url(url)
        self._connections = Pool(self._origin, _SECONDS)
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
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                connection = await self._connections.open()
        except (LambError, TimeoutError):
            return (
                f"accepts no connection at {self._origin.host}:{self._origin.port}. Check that "
                "LAMB runs, and HEDDLE_LAMB_URL."
            )
        connection.close()
        return ""

    async def _ask(self, email: str, password: str, client: str) -> _Response:
        body = urlencode({"email": email, "password": password}).encode()
        head = (
            f"POST {PATH} HTTP/1.1\r\nhost: {self._origin.authority.decode()}\r\n"
            "accept: application/json\r\ncontent-type: application/x-www-form-urlencoded\r\n"
            f"x-forwarded-for: {client or 'unknown'}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        connection = await self._connections.open()
        try:
            connection.begin(head.encode() + body, method_is_head=False)
            return self._decoder.decode(await _body(connection))
        except msgspec.MsgspecError as error:
            raise GarbledError(f"its login returns something else: {error}") from error
        finally:
            connection.close()


async def _body(connection: LambConnection) -> bytes:
    """Return the body of a response. A refusal with an error status is a refusal, too."""
    await connection.head()
    body, last = b"", False
    while not last:
        part, last = await connection.read()
        body += part
        if len(body) > MAX_RESPONSE_BYTES:
            raise GarbledError(f"its login returns more than {MAX_RESPONSE_BYTES} bytes")
    if connection.status in _REFUSALS:
        return b'{"success":false}'
    if connection.status != _OK:
        raise GarbledError(f"its login returns the status {connection.status}")
    return body
