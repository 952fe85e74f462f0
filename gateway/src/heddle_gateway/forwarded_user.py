"""Open WebUI's headers that say which of its users asks.

They count with a trusted key alone: whoever holds another one could write anybody's name there.
"""

import re
from dataclasses import replace

from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.identity import Identity

from heddle_gateway.exchange import Exchange
from heddle_gateway.keyring import Holder

EMAIL = b"x-openwebui-user-email"
USER_ID = b"x-openwebui-user-id"
_HEADERS = (EMAIL, USER_ID, b"x-openwebui-user-name", b"x-openwebui-user-role")
_LONGEST = 1024
_ADDRESS = re.compile(rb"[!-?A-~]{1,64}@[!-?A-~]{1,190}")
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")


def speaker(holder: Holder, exchange: Exchange) -> Identity:
    """Return in whose name a request comes.

    A user that a trusted key speaks for is one of the key's organisation, and may do no more than
    any user there: the role in the headers gives nothing, and the key's scopes are not his.

    Raises:
        InvalidRequestError: A header of a trusted key is wrong.
    """
    if not holder.trusted:
        return holder.identity
    for header in _HEADERS:
        _check(header, [value for name, value in exchange.scope["headers"] if name == header])
    email = exchange.headers.get(EMAIL)
    if not email:
        return replace(holder.identity, client_user=_client_user(exchange))
    if not _ADDRESS.fullmatch(email):
        raise _wrong(EMAIL, "is not an e-mail address")
    return Identity(email.decode("ascii"), holder.identity.organization)


def _client_user(exchange: Exchange) -> str:
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
