"""Authenticates requests: a key becomes the identity of the caller."""

from heddle_runtime.call_metadata import AUTHORIZATION, CALLER, Caller
from heddle_runtime.errors import PermissionDeniedError, UnauthenticatedError
from heddle_runtime.identity import DEVELOPER, Identity, home

from heddle_gateway.auth.fair_turns import FairTurns
from heddle_gateway.auth.impersonation import Impersonation
from heddle_gateway.auth.issued_keys import PREFIX, IssuedKeys
from heddle_gateway.auth.keys_file import Keyring, Principal
from heddle_gateway.auth.rate_limits import RateLimits
from heddle_gateway.auth.web_pages import calls_this_machine, is_own_page, origin_of
from heddle_gateway.http.raw import RawRequest

FRONT_END = Identity("key:trusted", key_id="settings:trusted")
"""The owner of the trusted key in the settings, for requests that name no user."""
NOBODY = Identity("nobody")
"""The caller without a key where none is needed."""
DEVELOPMENT_KEY = "development"
"""The key that clients may send in development mode if they cannot send none."""
_DEVELOPMENT_PRINCIPAL = Principal(DEVELOPER)
_AUTHORIZATION = AUTHORIZATION.encode()


class Authenticator:
    """Authenticates requests, and sets the caller of the calls that they cause."""

    def __init__(
        self,
        keyring: Keyring,
        issued: IssuedKeys,
        impersonation: Impersonation,
        *,
        development: bool = False,
        origins: tuple[str, ...] = (),
        limits: RateLimits | None = None,
        turns: FairTurns | None = None,
    ) -> None:
        """Prepare.

        Args:
            keyring: The keys of the settings.
            issued: The keys that the account service issued.
            impersonation: The users of trusted keys.
            secret: Signs identities; None: they are not signed.
            development: Whether no key is needed.
            origins: Of web pages that may call a gateway in development mode.
            limits: Of keys and organisations; None: there are none.
            turns: Of organisations; None: requests start at once.
        """
        self._keyring = keyring
        self._issued = issued
        self._impersonation = impersonation
        self._development = development
        self._origins = origins
        self._limits = limits
        self._turns = turns

    async def admit(self, request: RawRequest, *, required: bool) -> None:
        """Authenticate a request, and set the caller of the calls that it causes.

        Raises:
            InvalidRequestError: A header that names the user is invalid.
            PermissionDeniedError: A web page calls a gateway in development mode, or the user that
                a trusted key names is disabled.
            ResourceExhaustedError: The key or its organisation has too many requests.
            UnauthenticatedError: A key is `required` and missing or invalid, two were sent, or
                the key is unknown in development mode.
            UnavailableError: The key, or the user, cannot be checked now.
        """
        if self._development:
            self._reject_web_pages(request)
        key = _bearer(request)
        principal = self._keyring.principal(key)
        if principal is None and key.startswith(PREFIX):
            principal = await self._issued.principal(key)
        if principal is None and self._development:
            if key not in ("", DEVELOPMENT_KEY):
                raise UnauthenticatedError(
                    "The API key is not valid. In development mode, send no key or the key "
                    f"'{DEVELOPMENT_KEY}'."
                )
            principal = _DEVELOPMENT_PRINCIPAL
        if principal is None and required:
            raise UnauthenticatedError(
                "The API key is not valid."
                if key
                else "The API key is missing. Send it in the header 'Authorization: Bearer KEY'."
            )
        identity = principal.identity if principal else NOBODY
        if principal is not None and principal.trusted:
            identity = await self._impersonation.identity(principal, request)
        if principal is not None and self._limits is not None:
            request.admissions = (self._limits.admit(key, home(identity)),)
        if self._turns is not None and (turn := await self._turns.enter(identity)) is not None:
            request.admissions += (turn,)
        self.enter(request, identity)

    def enter(self, request: RawRequest, identity: Identity = NOBODY) -> None:
        """Make the calls of this request on behalf of `identity`."""
        CALLER.set(Caller(request.request_id, identity, request.traceparent()))

    def _reject_web_pages(self, request: RawRequest) -> None:
        """Reject requests of other web sites: development mode has no key that stops them."""
        origin = origin_of(request)
        own = not origin or origin in self._origins or is_own_page(request)
        if not (own and calls_this_machine(request)):
            raise PermissionDeniedError(
                "In development mode the gateway answers programs of its own machine that call it "
                "by 127.0.0.1 or localhost, its own pages, and web pages listed in "
                "HEDDLE_GATEWAY_CORS_ORIGINS."
            )


def _bearer(request: RawRequest) -> str:
    """Return the key of a request; its credentials as they are if they are not a bearer token."""
    if _AUTHORIZATION not in request.headers:
        return ""
    headers = request.scope["headers"]
    if len(headers) > len(request.headers):  # a header was sent twice
        sent = [value for name, value in headers if name == _AUTHORIZATION]
        if len(sent) > 1:  # neither takes precedence
            raise UnauthenticatedError("The request has two Authorization headers.")
    credentials = request.headers[_AUTHORIZATION].decode("latin-1").strip()
    scheme, _, key = credentials.partition(" ")
    return key.strip() if scheme.lower() == "bearer" else credentials
