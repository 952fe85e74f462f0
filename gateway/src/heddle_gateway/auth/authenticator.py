"""Authenticates requests: a key, or the cookie of a session, becomes the identity of the caller."""

import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol

from heddle_runtime.errors import UnauthenticatedError
from heddle_runtime.identity.call_metadata import AUTHORIZATION, CALLER, Caller, caller
from heddle_runtime.identity.callers import DEVELOPER, Identity, home
from heddle_runtime.rpc.organization_settings import CACHE_SECONDS

from heddle_gateway.auth.browsers import Browsers
from heddle_gateway.auth.credentials import AnyCredential, KeyCredential, SessionCredential
from heddle_gateway.auth.fair_turns import FairTurns
from heddle_gateway.auth.impersonation import Impersonation
from heddle_gateway.auth.issued_keys import PREFIX
from heddle_gateway.auth.keys_file import SETTINGS_KEY, Keyring, Principal
from heddle_gateway.auth.rate_limits import RateLimits
from heddle_gateway.http.raw import RawRequest

NOBODY = Identity("nobody")
"""The caller of a request without a key, where none is needed."""
DEVELOPMENT_KEY = "development"
"""The key that clients may send in development mode if they cannot send none."""
_DEVELOPMENT_PRINCIPAL = Principal(DEVELOPER)
_AUTHORIZATION = AUTHORIZATION.encode()
_API_KEY = b"x-api-key"


class Issuer(Protocol):
    """An issuer of keys: the account service, or an extension."""

    async def principal(self, key: str) -> Principal | None:
        """Return the owner of a key; None if the key is invalid or another issuer's."""


@dataclass(eq=False, slots=True)
class Authenticator:
    """Authenticates requests, and sets the caller of the calls that they cause."""

    keyring: Keyring
    """The keys of the settings."""
    issuers: Sequence[Issuer]
    """The issuers of all other keys."""
    impersonation: Impersonation
    """The users of trusted keys."""
    browsers: Browsers
    """The cookies of browsers."""
    _: KW_ONLY
    development: bool = False
    """Whether no key is needed."""
    limits: RateLimits | None = None
    """The rate limits of keys and organisations; None if there are none."""
    turns: FairTurns | None = None
    """The turns of organisations; None: requests start at once."""
    _fresh_until: dict[tuple[str, str], float] = field(default_factory=dict, init=False)
    """By subject and organisation of a caller, until when caches may lack a change of settings."""

    async def admit(self, request: RawRequest, *, required: bool) -> None:
        """Authenticate a request, and set the caller of the calls that it causes.

        A cookie counts only without the headers `Authorization` and `x-api-key`.

        Raises:
            InvalidRequestError: A header that names the user is invalid.
            PermissionDeniedError: A web page calls a gateway in development mode, or the user that
                a trusted key names is disabled, or a request with a cookie may be that of another
                web site.
            ResourceExhaustedError: The key or its organisation has too many requests.
            UnauthenticatedError: A key is `required` and missing or invalid, two were sent, or
                the key is unknown in development mode.
            UnavailableError: The key, or the user, cannot be checked now.
        """
        if (identity := request.scope["state"].get("identity")) is not None:
            # The gateway itself makes the request, for a batch of this caller.
            request.credential = KeyCredential(identity)
            await self._take_turn(request, identity)
            return
        self.browsers.check_development(request)
        has_key = _AUTHORIZATION in request.headers or _API_KEY in request.headers
        token = "" if has_key else self.browsers.token(request)
        if token and (session := await self.browsers.session(request, token)) is not None:
            await self._let_in(request, session.message.id, SessionCredential(session))
            return
        key = _bearer(request)
        principal = await self._principal(key)
        if principal is None and self.development:
            if key not in ("", DEVELOPMENT_KEY):
                raise UnauthenticatedError(
                    "The API key is not valid. In development mode, send no key or the key "
                    f"'{DEVELOPMENT_KEY}'."
                )
            principal = _DEVELOPMENT_PRINCIPAL
        if principal is None:
            if required:
                raise _refused(key, token)
            await self._take_turn(request, NOBODY)
            return
        identity = principal.identity
        if principal.trusted:
            identity = await self.impersonation.identity(principal, request)
        is_development = principal is _DEVELOPMENT_PRINCIPAL
        credential = KeyCredential(
            identity,
            principal.expires_at,
            is_development=is_development,
            speaks_for_others=principal.trusted and identity.subject == principal.identity.subject,
        )
        await self._let_in(request, key, credential)

    async def is_trusted(self, request: RawRequest) -> bool:
        """Return whether a request has a key that may act on behalf of other users.

        Raises:
            UnauthenticatedError: Two keys were sent.
            UnavailableError: The key cannot be checked now.
        """
        principal = await self._principal(_bearer(request))
        return principal is not None and principal.trusted

    def is_own_key(self, authorization: str) -> bool:
        """Return whether the value of an `Authorization` header holds a key of Heddle alone.

        The key in the settings is not: another system may have the same one.
        """
        key = _key(authorization)
        principal = self.keyring.principal(key)
        configured = principal is not None and principal.identity.key_id != SETTINGS_KEY
        return configured or key.startswith(PREFIX)

    async def _principal(self, key: str) -> Principal | None:
        principal = self.keyring.principal(key)
        for issuer in self.issuers:
            if principal is None:
                principal = await issuer.principal(key)
        return principal

    async def _let_in(self, request: RawRequest, key: str, credential: AnyCredential) -> None:
        """Count a request, wait for its turn, and set its caller."""
        if self.limits is not None:
            request.admissions = (self.limits.admit(key, home(credential.identity)),)
        request.credential = credential
        await self._take_turn(request, credential.identity)

    async def _take_turn(self, request: RawRequest, identity: Identity) -> None:
        if self.turns is not None and (turn := await self.turns.enter(identity)) is not None:
            request.admissions += (turn,)
        self.enter(request, identity)

    def enter(self, request: RawRequest, identity: Identity = NOBODY) -> None:
        """Make the calls of this request on behalf of `identity`."""
        end = self._fresh_until.get((identity.subject, identity.organization), 0.0)
        CALLER.set(
            Caller(request.request_id, identity, request.trace, fresh=end > time.monotonic())
        )

    def note_change(self) -> None:
        """Let the next requests of the caller, who has changed settings, use no older ones."""
        now = time.monotonic()
        current = {who: end for who, end in self._fresh_until.items() if end > now}
        who = caller().identity
        self._fresh_until = current | {(who.subject, who.organization): now + CACHE_SECONDS}


def _refused(key: str, token: str) -> UnauthenticatedError:
    if key:
        return UnauthenticatedError("The API key is not valid.")
    if token:
        message = "The session has ended. Sign in again."
        return UnauthenticatedError(message, subject="session")
    return UnauthenticatedError(
        "The API key is missing. Send it in the header 'Authorization: Bearer KEY'."
    )


def _bearer(request: RawRequest) -> str:
    """Return the key of a request; its credentials as they are if they are not a bearer token.

    Anthropic's clients send it in `x-api-key`, which counts only without `Authorization`.
    """
    if _AUTHORIZATION not in request.headers:
        return request.header(_API_KEY.decode()).strip()
    headers = request.scope["headers"]
    if len(headers) > len(request.headers):  # a header was sent twice
        sent = [value for name, value in headers if name == _AUTHORIZATION]
        if len(sent) > 1:  # neither takes precedence
            raise UnauthenticatedError("The request has two Authorization headers.")
    return _key(request.headers[_AUTHORIZATION].decode("latin-1"))


def _key(authorization: str) -> str:
    credentials = authorization.strip()
    scheme, _, key = credentials.partition(" ")
    return key.strip() if scheme.lower() == "bearer" else credentials
