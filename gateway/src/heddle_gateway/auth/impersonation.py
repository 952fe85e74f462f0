"""Open WebUI's headers that say which of its users asks.

They count with a trusted key alone: whoever holds another one could write anybody's name there.

Many people who chat are no users that anybody made here. So a name that is not known is a plain
member of the key's organisation: may use what is published there, and owns what it makes under that
name. A name of another organisation's is no more than that either. But a user of the organisation
who is let in no more is refused; behind a key of the operator's organisation, any such user.
"""

import re
from typing import TYPE_CHECKING

import grpc
import structlog
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.call_metadata import new_call_options
from heddle_runtime.errors import (
    InvalidRequestError,
    PermissionDeniedError,
    UnavailableError,
    Violation,
    from_rpc,
)
from heddle_runtime.identity import Identity, home
from heddle_runtime.service_credentials import ServiceCredentials
from heddle_runtime.ttl_cache import TTLCache
from msgspec.structs import replace

from heddle_gateway.auth.issued_keys import REMEMBERED
from heddle_gateway.auth.keys_file import Principal
from heddle_gateway.http.raw import RawRequest

if TYPE_CHECKING:
    from heddle.account.v1.account_pb2_grpc import AccountServiceAsyncStub

log = structlog.get_logger(__name__)
EMAIL = b"x-openwebui-user-email"
USER_ID = b"x-openwebui-user-id"
_HEADERS = (EMAIL, USER_ID, b"x-openwebui-user-name", b"x-openwebui-user-role")
_LONGEST = 1024
_ADDRESS = re.compile(rb"[!-?A-~]{1,64}@[!-?A-~]{1,190}")
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_TIMEOUT = 5.0


class Impersonation:
    """Asks the account service who somebody is; about one person only once at a time."""

    def __init__(self, accounts: "AccountServiceAsyncStub", acting: ServiceCredentials) -> None:
        self._accounts = accounts
        self._acting = acting
        self._known: TTLCache[Identity, pb.Standing.ValueType] = TTLCache(REMEMBERED)

    async def speaker(self, holder: Principal, exchange: RawRequest) -> Identity:
        """Return in whose name a request with a trusted key comes.

        A user that a trusted key speaks for is one of the key's organisation, and may do no more
        than any user there: the role in the headers gives nothing, and the key's scopes are not
        his.

        Raises:
            InvalidRequestError: A header is wrong.
            PermissionDeniedError: The user is let in no more.
            UnavailableError: The account service does not tell.
        """
        email = _email(exchange)
        if not email:
            return replace(holder.identity, client_user=_client_user(exchange))
        identity = Identity(email, holder.identity.organization)
        standing = await self._known.get(identity, lambda: self._ask(identity))
        if standing == pb.STANDING_DISABLED:
            raise PermissionDeniedError("The user in whose name the request comes is disabled.")
        return identity

    async def _ask(self, identity: Identity) -> pb.Standing.ValueType:
        request = pb.ResolveUserRequest(email=identity.subject, organization=home(identity))
        try:
            with self._acting.as_service():
                found = await self._accounts.ResolveUser(request, **new_call_options(_TIMEOUT))
        except grpc.aio.AioRpcError as error:
            known = from_rpc(error)
            log.error("users cannot be checked", reason=known.reason, cause=known.message)  # noqa: TRY400 - the service is at fault, a traceback says nothing
            raise UnavailableError(
                "Users cannot be checked at the moment. Try again.", retry_after=1.0
            ) from known
        return found.standing


def _email(exchange: RawRequest) -> str:
    """Return the address of the user that the headers name; empty if they name none."""
    for header in _HEADERS:
        _check(header, [value for name, value in exchange.scope["headers"] if name == header])
    email = exchange.headers.get(EMAIL)
    if not email:
        return ""
    if not _ADDRESS.fullmatch(email):
        raise _wrong(EMAIL, "is not an e-mail address")
    return email.decode("ascii")


def _client_user(exchange: RawRequest) -> str:
    """Return the client's own id of the user, which names him in prompts and gives no rights."""
    try:
        return exchange.headers.get(USER_ID, b"").decode("ascii").strip()
    except UnicodeDecodeError:
        raise _wrong(USER_ID, "must be ASCII") from None


def _check(header: bytes, values: list[bytes]) -> None:
    if len(values) > 1:  # which of the two would be believed?
        raise _wrong(header, "was sent twice")
    if values and (len(values[0]) > _LONGEST or _CONTROL.search(values[0])):
        raise _wrong(header, f"must be at most {_LONGEST} bytes without control characters")


def _wrong(header: bytes, what: str) -> InvalidRequestError:
    name = header.decode("ascii")
    return InvalidRequestError(f"The header {name} {what}.", [Violation(name, what)])
