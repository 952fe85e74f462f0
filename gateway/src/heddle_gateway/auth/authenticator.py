"""Who asks: a key becomes an identity that services can verify."""

from urllib.parse import urlsplit

from heddle_runtime.call_metadata import AUTHORIZATION, CALLER, Caller
from heddle_runtime.errors import PermissionDeniedError, UnauthenticatedError
from heddle_runtime.identity import ADMIN, Identity, TokenSigner

from heddle_gateway.auth.impersonation import Impersonation
from heddle_gateway.auth.issued_keys import PREFIX, IssuedKeys
from heddle_gateway.auth.keys_file import Keyring, Principal
from heddle_gateway.http.raw import RawRequest

OPERATOR = Identity("operator", scopes=(ADMIN,))
"""Who holds the one key of the settings, which may do everything."""
DEVELOPER = Identity("developer", scopes=(ADMIN,))
"""Who asks in development, without a key."""
NOBODY = Identity("nobody")
"""Who asks without a key where none is needed."""
_IN_DEVELOPMENT = Principal(DEVELOPER)
_SENT_IN = AUTHORIZATION.encode()
_HOST, _ORIGIN = b"host", b"origin"
_LOOPBACK = {"localhost", "127.0.0.1", "::1", ""}


class Authenticator:
    """Lets requests in, and tells the services behind in whose name they come."""

    def __init__(
        self,
        keyring: Keyring,
        issued: IssuedKeys,
        speakers: Impersonation,
        secret: str | None,
        *,
        development: bool = False,
        origins: tuple[str, ...] = (),
    ) -> None:
        self._keyring = keyring
        self._issued = issued
        self._speakers = speakers
        self._signer = TokenSigner(secret) if secret else None
        self._development = development
        self._origins = origins
        self._loopback_host = b""

    async def admit(self, exchange: RawRequest, *, required: bool) -> None:
        """Find out who asks and remember it for the calls that the request causes.

        Raises:
            InvalidRequestError: A header that says who asks is wrong.
            PermissionDeniedError: A web page asks a gateway that is open to its own machine only,
                or the user that a trusted key speaks for is let in no more.
            UnauthenticatedError: A key is `required` and missing or wrong, or two were sent.
            UnavailableError: The key, or the user, cannot be checked now.
        """
        if self._development:
            self._keep_web_pages_out(exchange)
        key = _bearer(exchange)
        holder = self._keyring.holder(key)
        if holder is None and key.startswith(PREFIX):
            holder = await self._issued.holder(key)
        if holder is None and self._development:
            holder = _IN_DEVELOPMENT
        if holder is None and required:
            raise UnauthenticatedError(
                "The API key is not valid."
                if key
                else "The API key is missing. Send it in the header 'Authorization: Bearer KEY'."
            )
        if holder is not None and holder.trusted:
            self.enter(exchange, await self._speakers.speaker(holder, exchange))
        else:
            self.enter(exchange, holder.identity if holder else NOBODY)

    def enter(self, exchange: RawRequest, identity: Identity = NOBODY) -> None:
        """Let the calls of this request go out in the name of `identity`."""
        token = self._signer.token(identity) if self._signer else ""
        CALLER.set(Caller(exchange.request_id, identity, token, exchange.traceparent()))

    def _keep_web_pages_out(self, exchange: RawRequest) -> None:
        """Refuse what a page of another site makes a browser send: there is no key to ask for."""
        origin = exchange.header("origin") if _ORIGIN in exchange.headers else ""
        host = exchange.headers.get(_HOST, b"")
        # Nearly all requests have the same host.
        known = host == self._loopback_host or self._is_loopback(host)
        if not known or (origin and origin not in self._origins):
            raise PermissionDeniedError(
                "In development mode the gateway answers only programs of its own machine that "
                "call it by 127.0.0.1 or localhost, and web pages listed in "
                "HEDDLE_GATEWAY_CORS_ORIGINS."
            )

    def _is_loopback(self, host: bytes) -> bool:
        try:
            name = urlsplit(f"//{host.decode('latin-1')}").hostname or ""
        except ValueError:  # no address at all
            return False
        if name not in _LOOPBACK:
            return False
        self._loopback_host = host
        return True


def _bearer(exchange: RawRequest) -> str:
    if _SENT_IN not in exchange.headers:
        return ""
    given = exchange.scope["headers"]
    if len(given) > len(exchange.headers):  # something was sent twice
        sent = [value for name, value in given if name == _SENT_IN]
        if len(sent) > 1:  # which of the two would be believed?
            raise UnauthenticatedError("The request carries two authorizations.")
    scheme, _, key = exchange.headers[_SENT_IN].decode("latin-1").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""
