"""The encrypted cookie of a browser whose user is at the identity provider.

The request that comes back is one of another site, so browsers send only a cookie with
`SameSite=Lax`. It starts no session by itself.
"""

import contextlib
import json
import secrets
import time
from dataclasses import asdict, dataclass, field

from pydantic import SecretStr

from heddle_gateway.auth.sealed_texts import SealedTexts

FLOW_SECONDS = 600
_PURPOSE = b"heddle oidc flow"


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
    """Encrypts flows for the browsers of their users."""

    def __init__(self, secret: SecretStr) -> None:
        """Compute the key."""
        self._texts = SealedTexts(secret, _PURPOSE)

    def seal(self, flow: Flow) -> str:
        """Return the value of the cookie of a flow."""
        return self._texts.seal(json.dumps(asdict(flow)))

    def open(self, value: str) -> Flow | None:
        """Return the flow of a cookie; None if it has another origin, or has ended."""
        with contextlib.suppress(ValueError, TypeError):
            flow = Flow(**json.loads(self._texts.open(value) or b""))
            return flow if flow.ends_at > time.time() else None
        return None
