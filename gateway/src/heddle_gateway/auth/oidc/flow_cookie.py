"""The encrypted cookie of a browser whose user is at the identity provider.

The request that comes back is one of another site, so browsers send only a cookie with
`SameSite=Lax`. It starts no session by itself.
"""

import contextlib
import hmac
import json
import secrets
import time
from dataclasses import asdict, dataclass, field

from heddle_runtime.identity.secrets import split_secrets
from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from pydantic import SecretStr

FLOW_SECONDS = 600
_PURPOSE = b"heddle oidc flow"
_HEADER = {"alg": "dir", "enc": "A256GCM"}
_ALGORITHMS = ["dir", "A256GCM"]


@dataclass(frozen=True, slots=True)
class Flow:
    """An attempt to sign in with a provider."""

    provider: str
    return_to: str
    organization: str
    redirect_uri: str
    state: str = field(default_factory=secrets.token_urlsafe, repr=False)
    nonce: str = field(default_factory=secrets.token_urlsafe, repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    ends_at: int = field(default_factory=lambda: int(time.time()) + FLOW_SECONDS)


class FlowCookies:
    """Encrypts flows with a key that all gateways of an installation can compute.

    While an operator replaces the secret, gateways accept the flows of one another.
    """

    def __init__(self, secret: SecretStr) -> None:
        """Compute the key."""
        texts = split_secrets(secret.get_secret_value())
        digests = [hmac.digest(text.encode(), _PURPOSE, "sha256") for text in texts]
        self._keys = [OctKey.import_key(digest) for digest in digests]

    def seal(self, flow: Flow) -> str:
        """Return the value of the cookie of a flow."""
        text = json.dumps(asdict(flow))
        return jwe.encrypt_compact(_HEADER, text, self._keys[0], algorithms=_ALGORITHMS)

    def open(self, value: str) -> Flow | None:
        """Return the flow of a cookie; None if it has another origin, or has ended."""
        for key in self._keys:
            with contextlib.suppress(JoseError, ValueError, TypeError):
                opened = jwe.decrypt_compact(value, key, algorithms=_ALGORITHMS)
                flow = Flow(**json.loads(opened.plaintext or b""))
                return flow if flow.ends_at > time.time() else None
        return None
