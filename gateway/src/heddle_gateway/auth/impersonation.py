"""Impersonation: a trusted key may act on behalf of another user, named in Open WebUI's headers.

The headers are ignored on requests with any other key.

Most users of Open WebUI have no account in Heddle. An unknown user, or one of another organisation,
is a member of the key's organisation: it may use what is published there, and creates nothing. A
user of the organisation has its role there, at most that of a creator: the key of a client
administers nothing. A disabled user of the organisation is rejected; with a key of the
operator's organisation, a user who is disabled in the home organisation.
"""

import re

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import InvalidRequestError, PermissionDeniedError, Violation
from heddle_runtime.identity.callers import CREATOR, Identity, home
from heddle_runtime.identity.permissions import scopes_of
from heddle_runtime.rpc.ttl_cache import TTLCache
from msgspec.structs import replace

from heddle_gateway.auth.issued_keys import CACHE_SECONDS, AccountClient
from heddle_gateway.auth.keys_file import Principal
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
        self._users: TTLCache[Identity, pb.ResolveUserResponse] = TTLCache(CACHE_SECONDS)

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
