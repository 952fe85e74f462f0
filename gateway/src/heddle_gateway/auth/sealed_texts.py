"""Texts that clients store for the gateway, and can neither read nor change."""

import contextlib
import hmac

import msgspec
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.secrets import split_secrets
from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from pydantic import SecretStr

_HEADER = {"alg": "dir", "enc": "A256GCM"}
_ALGORITHMS = ["dir", "A256GCM"]


class SealedTexts:
    """Encrypts texts with a key that all gateways of an installation can compute.

    While an operator replaces the secret, gateways accept the texts of one another.
    """

    def __init__(self, secret: SecretStr, purpose: bytes) -> None:
        """Compute the key of a purpose, which opens no text of another one."""
        texts = split_secrets(secret.get_secret_value())
        digests = [hmac.digest(text.encode(), purpose, "sha256") for text in texts]
        self._keys = [OctKey.import_key(digest) for digest in digests]

    def seal(self, text: str) -> str:
        """Return a text in encrypted form."""
        return jwe.encrypt_compact(_HEADER, text, self._keys[0], algorithms=_ALGORITHMS)

    def open(self, value: str) -> bytes | None:
        """Return the text; None if it has another origin."""
        for key in self._keys:
            with contextlib.suppress(JoseError, ValueError, TypeError):
                return jwe.decrypt_compact(value, key, algorithms=_ALGORITHMS).plaintext
        return None


class BoundTexts:
    """Sealed texts that only the same caller can use, with the same assistant."""

    def __init__(self, sealed: SealedTexts, model: str) -> None:
        identity = caller().identity
        self._sealed = sealed
        self._bound = [identity.organization, identity.subject, identity.client_user, model]

    def seal(self, text: str) -> str:
        """Return a text in encrypted form."""
        return self._sealed.seal(msgspec.json.encode([*self._bound, text]).decode())

    def open(self, value: str) -> str:
        """Return the text; an empty string if it is bound to others, or of another origin."""
        opened = self._sealed.open(value)
        *bound, text = msgspec.json.decode(opened, type=list[str]) if opened else [""]
        return text if bound == self._bound else ""
