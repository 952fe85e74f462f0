"""Encrypts single secrets, each bound to its place in the settings of an organisation."""

import base64
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_BEGINNING = "heddle:sealed:1:"
_NONCE = 12  # bytes, as the cipher wants
_PURPOSE = b"heddle organisation settings"

Place = Sequence[str | int]
"""The place of a secret: the organisation's slug, and the path of a member in its settings."""


class UnreadableSecretError(ValueError):
    """A secret was encrypted with a key that is not configured, or for another place."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that decrypt secrets. The first one encrypts."""

    ciphers: Sequence[AESGCM] = field(repr=False)

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Keys":
        """Derive keys from texts, which must be random."""
        return cls(tuple(AESGCM(_derived(text)) for text in texts))

    def seal(self, value: object, place: Place) -> str:
        """Encrypt a JSON value. Only these keys can decrypt it, and only for `place`."""
        nonce = secrets.token_bytes(_NONCE)
        sealed = self.ciphers[0].encrypt(nonce, json.dumps(value).encode(), _bound(place))
        return _BEGINNING + base64.urlsafe_b64encode(nonce + sealed).decode()

    def open(self, text: str, place: Place) -> object:
        """Decrypt a value that was encrypted for `place`.

        Raises:
            UnreadableSecretError: None of the keys decrypts it there.
        """
        plaintext = _opened(text, place, self.ciphers)
        if plaintext is None:
            where = ".".join(map(str, place[1:]))
            raise UnreadableSecretError(f"The secret {where!r} cannot be decrypted.")
        value: object = json.loads(plaintext)
        return value

    def is_current(self, text: str, place: Place) -> bool:
        """Return whether the first key decrypts a text."""
        return _opened(text, place, self.ciphers[:1]) is not None


def is_sealed(value: object) -> bool:
    """Return whether a stored value is an encrypted secret."""
    return isinstance(value, str) and value.startswith(_BEGINNING)


def _opened(text: str, place: Place, ciphers: Sequence[AESGCM]) -> bytes | None:
    try:
        data = base64.urlsafe_b64decode(text.removeprefix(_BEGINNING))
    except ValueError:
        return None
    for cipher in ciphers:
        try:
            return cipher.decrypt(data[:_NONCE], data[_NONCE:], _bound(place))
        except (InvalidTag, ValueError):
            continue
    return None


def _bound(place: Place) -> bytes:
    return json.dumps(list(place)).encode()


def _derived(text: str) -> bytes:
    return HKDF(SHA256(), length=32, salt=None, info=_PURPOSE).derive(text.encode())
