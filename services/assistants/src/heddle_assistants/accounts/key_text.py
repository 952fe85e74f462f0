"""The text of API keys, and what is kept of it."""

import hmac
import re
import secrets
from dataclasses import dataclass, field

_ID_BYTES = 8
_SECRET_BYTES = 32
_KEY = re.compile(r"hk_(?P<id>[0-9a-f]{16})_(?P<secret>[A-Za-z0-9_-]{20,200})", re.ASCII)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made."""

    id: str
    text: str = field(repr=False)
    """What clients send."""
    digest: bytes = field(repr=False)
    """What is kept."""


@dataclass(frozen=True, slots=True)
class Pepper:
    """The secret without which the kept digests are of no use."""

    secret: bytes = field(repr=False)

    def digest(self, text: str) -> bytes:
        """Return what is kept of the secret part of a key."""
        return hmac.digest(self.secret, text.encode("utf-8", "replace"), "sha256")


def new_key(pepper: Pepper) -> NewKey:
    """Make a key of 256 random bits."""
    identifier = secrets.token_hex(_ID_BYTES)
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return NewKey(identifier, f"hk_{identifier}_{secret}", pepper.digest(secret))


def parts(text: str) -> tuple[str, str]:
    """Return the id and the secret of a key; of a text that is none, an id that no key has."""
    match = _KEY.fullmatch(text)
    return (match["id"], match["secret"]) if match else ("", text)
