"""Signs and verifies the tokens that services send each other: JSON Web Tokens with HS256.

The gateway reads tokens of others with joserfc, which loads the algorithms of all tokens: 5 MB in
each service. Here one algorithm is possible, so no token can choose another one.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec


class InvalidTokenError(ValueError):
    """The text is no token, or none of the keys signed it."""


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    """The header of a token. An extension that it demands would be an unknown field."""

    alg: Literal["HS256"]
    typ: Literal["JWT"] = "JWT"


def _encoded(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


_HEADER = _encoded(b'{"typ":"JWT","alg":"HS256"}')


def signed(claims: Mapping[str, Any], key: bytes) -> str:
    """Return the token of claims."""
    content = b".".join([_HEADER, _encoded(msgspec.json.encode(claims))])
    return b".".join([content, _signature(content, key)]).decode("ascii")


def verified(token: str, keys: Sequence[bytes]) -> dict[str, Any]:
    """Return the claims of a token that one of the keys signed. Does not check `exp`.

    Raises:
        InvalidTokenError: It is no token, or none of them did.
    """
    try:
        header, payload, signature = token.encode("ascii").split(b".")
        content = b".".join([header, payload])
        # All of them, so that the time does not tell which key is valid.
        valid = [hmac.compare_digest(signature, _signature(content, key)) for key in keys]
        if not any(valid):
            raise InvalidTokenError("No key signed the token.")
        msgspec.json.decode(_decoded(header), type=_Header)
        return msgspec.json.decode(_decoded(payload), type=dict[str, Any])
    except (binascii.Error, msgspec.MsgspecError, ValueError) as error:
        raise InvalidTokenError("The token is not valid.") from error


def _decoded(text: bytes) -> bytes:
    return base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _signature(content: bytes, key: bytes) -> bytes:
    """Return the encoded signature: a token has one form, whatever decoders would accept."""
    return _encoded(hmac.digest(key, content, hashlib.sha256))
