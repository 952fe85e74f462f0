"""Authenticates requests: a key, or the cookie of a session, becomes the identity of the caller."""

import re
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import (
    InvalidRequestError,
    PermissionDeniedError,
    UnauthenticatedError,
    Violation,
)
from heddle_runtime.identity.call_metadata import AUTHORIZATION, CALLER, Caller, caller
from heddle_runtime.identity.callers import CREATOR, DEVELOPER, Identity, home
from heddle_runtime.identity.permissions import scopes_of
from heddle_runtime.rpc.organization_settings import CACHE_SECONDS
from heddle_runtime.rpc.ttl_cache import TTLCache
from msgspec.structs import replace

from heddle_gateway.auth.browsers import Browsers
from heddle_gateway.auth.issued_keys import CACHE_SECONDS as KEY_SECONDS
from heddle_gateway.auth.issued_keys import PREFIX, AccountClient
from heddle_gateway.auth.keys_file import SETTINGS_KEY, Keyring, Principal
from heddle_gateway.auth.rate_limits import FairTurns, RateLimits
from heddle_gateway.auth.sessions import AnyCredential, KeyCredential, SessionCredential
from heddle_gateway.http.raw import RawRequest

EMAIL = b"x-openwebui-user-email"
USER_ID = b"x-openwebui-user-id"
_HEADERS = (EMAIL, USER_ID, b"x-openwebui-user-name", b"x-openwebui-user-role")
_MAX_BYTES = 1024
_ADDRESS = re.compile(rb"[!-?A-~]{1,64}@[!-?A-~]{1,190}")
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")


class Impersonation:
    """Checks users with the account service, once at a time for each user."""

    def __init__(self, accounts: AccountClient) -> None:
        self._accounts = accounts
        self._users: TTLCache[Identity, pb.ResolveUserResponse] = TTLCache(KEY_SECONDS)

    async def identity(self, principal: Principal, request: RawRequest) -> Identity:
        """Return the user on whose behalf a request with a trusted key is made.

        It has neither the role of the headers nor the scopes of the key.

        Raises:
            InvalidRequestError: A header is invalid.
            PermissionDeniedError: The user is disabled.
            UnavailableError: The account service does not answer.
        """
        email = _email(request)
        if not email:
            return replace(principal.identity, client_user=_client_user(request))
        identity = Identity(email, principal.identity.organization)
        user = await self._users.get(identity, lambda: self._user(identity))
        if user.standing == pb.STANDING_DISABLED:
            raise PermissionDeniedError("The user on whose behalf the request is made is disabled.")
        scopes = (CREATOR,) if CREATOR in scopes_of(user.role) else ()
        return replace(identity, scopes=scopes, key_id=principal.identity.key_id)

    async def _user(self, identity: Identity) -> pb.ResolveUserResponse:
        request = pb.ResolveUserRequest(email=identity.subject, organization=home(identity))
        return await self._accounts.resolve(self._accounts.stub.ResolveUser, request, "Users")


def _email(request: RawRequest) -> str:
    """Return the e-mail address of the user in the headers; empty if there is none."""
    for header in _HEADERS:
        _check(header, [value for name, value in request.scope["headers"] if name == header])
    email = request.headers.get(EMAIL)
    if not email:
        return ""
    if not _ADDRESS.fullmatch(email):
        raise _invalid(EMAIL, "is not an e-mail address")
    return canonical_email(email.decode("ascii"))


def _client_user(request: RawRequest) -> str:
    """Return the client's id of the user. It appears in prompts and grants nothing."""
    try:
        return request.headers.get(USER_ID, b"").decode("ascii").strip()
    except UnicodeDecodeError:
        raise _invalid(USER_ID, "must be ASCII") from None


def _check(header: bytes, values: list[bytes]) -> None:
    if len(values) > 1:  # neither takes precedence
        raise _invalid(header, "was sent twice")
    if values and (len(values[0]) > _MAX_BYTES or _CONTROL.search(values[0])):
        raise _invalid(header, f"must be at most {_MAX_BYTES} bytes without control characters")


def _invalid(header: bytes, reason: str) -> InvalidRequestError:
    name = header.decode("ascii")
    return InvalidRequestError(f"The header {name} {reason}.", [Violation(name, reason)])


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
