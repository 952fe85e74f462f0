"""The texts of API keys and session tokens, and the digests that the database stores of them."""

import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

_ID_BYTES = 8
_SECRET_BYTES = 32
_PURPOSE = b"heddle pepper id"
_ID_CHARACTERS = 16
_KEY = re.compile(r"hk_(?P<id>[0-9a-f]{16})_(?P<secret>[A-Za-z0-9_-]{20,200})", re.ASCII)
_TOKEN = re.compile(r"hs_(?P<id>[0-9a-f]{16})_(?P<secret>[A-Za-z0-9_-]{43})", re.ASCII)
_SESSION = "heddle session "
"""The prefix of the input of a token's digest, so that it never equals the digest of a key."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key or token."""

    id: str
    text: str = field(repr=False)
    """The text that clients send."""
    digest: bytes = field(repr=False)
    """The digest that the database stores."""


class Peppers:
    """The secrets that are part of the digests, by id. The first makes new digests."""

    def __init__(self, texts: Sequence[str]) -> None:
        secrets_by_id = {_id_of(text.encode()): text.encode() for text in texts}
        self._secrets = secrets_by_id
        self.current = next(iter(secrets_by_id))
        """The id of the pepper of new digests. It reveals nothing of the pepper."""

    @property
    def ids(self) -> list[str]:
        """The ids of all peppers."""
        return list(self._secrets)

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._secrets

    def digest(self, text: str, identifier: str) -> bytes:
        """Return the digest of the secret part of a key with one pepper.

        An unknown identifier takes the same time as a known one, so that callers learn nothing.
        """
        secret = self._secrets.get(identifier, self._secrets[self.current])
        return hmac.digest(secret, text.encode("utf-8", "replace"), "sha256")


def _id_of(secret: bytes) -> str:
    return hmac.digest(secret, _PURPOSE, "sha256").hex()[:_ID_CHARACTERS]


def new_key(peppers: Peppers) -> NewKey:
    """Make a key of 256 random bits."""
    identifier = secrets.token_hex(_ID_BYTES)
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return NewKey(identifier, f"hk_{identifier}_{secret}", peppers.digest(secret, peppers.current))


def new_token(peppers: Peppers) -> NewKey:
    """Make a token of a session of 256 random bits."""
    identifier = secrets.token_hex(_ID_BYTES)
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    digest = token_digest(peppers, secret, peppers.current)
    return NewKey(identifier, f"hs_{identifier}_{secret}", digest)


def token_digest(peppers: Peppers, secret: str, pepper_id: str) -> bytes:
    """Return the digest of the secret part of a token with one pepper."""
    return peppers.digest(_SESSION + secret, pepper_id)


def token_parts(text: str) -> tuple[str, str]:
    """Return the id and the secret of a token; of a text that is none, an id that none has."""
    match = _TOKEN.fullmatch(text)
    return (match["id"], match["secret"]) if match else ("", text)


def parts(text: str) -> tuple[str, str]:
    """Return the id and the secret of a key; of a text that is none, an id that no key has."""
    match = _KEY.fullmatch(text)
    return (match["id"], match["secret"]) if match else ("", text)
