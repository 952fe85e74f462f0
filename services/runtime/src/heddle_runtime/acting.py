"""Calls that a service makes for itself, and not in the name of whoever asks it."""

from collections.abc import Iterator
from contextlib import contextmanager

from heddle_runtime.calls import CALLER, Caller, caller
from heddle_runtime.identity import SERVICE, Identity, TokenSigner


class Acting:
    """The identity of a service. Use as `with acting.itself(): await stub.Method(…)`."""

    def __init__(self, service: str, secret: str | None) -> None:
        self._identity = Identity(service, scopes=(SERVICE,))
        self._signer = TokenSigner(secret) if secret else None

    @contextmanager
    def itself(self) -> Iterator[None]:
        """Let the calls of the block go out in the service's own name, under the same request."""
        before = CALLER.set(self.caller())
        try:
            yield
        finally:
            CALLER.reset(before)

    def caller(self) -> Caller:
        """Return the service as the one who asks, under the same request."""
        asked = caller()
        token = self._signer.token(self._identity) if self._signer else ""
        return Caller(asked.request_id, self._identity, token, asked.traceparent)
