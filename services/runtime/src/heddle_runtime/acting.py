"""Calls that a service makes for itself, and not in the name of whoever asks it."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from heddle_runtime.calls import CALLER, Caller, caller, outgoing
from heddle_runtime.errors import from_rpc
from heddle_runtime.identity import SERVICE, Identity, TokenSigner

_TIMEOUT = 5.0
ResponseT = TypeVar("ResponseT")


class Acting:
    """The identity of a service. Use as `with acting.itself(): await stub.Method(…)`."""

    def __init__(self, service: str, secret: str | None) -> None:
        self._identity = Identity(service, scopes=(SERVICE,))
        self._signer = TokenSigner(secret) if secret else None

    @contextmanager
    def itself(self) -> Iterator[None]:
        """Let the calls of the block go out in the service's own name, under the same request."""
        asked = caller()
        token = self._signer.token(self._identity) if self._signer else ""
        before = CALLER.set(Caller(asked.request_id, self._identity, token, asked.traceparent))
        try:
            yield
        finally:
            CALLER.reset(before)

    async def ask(self, method: Callable[..., Awaitable[ResponseT]], request: Message) -> ResponseT:
        """Return what another service answers to this one, within 5 s.

        Raises:
            HeddleError: The call failed.
        """
        try:
            with self.itself():
                return await method(request, **outgoing(_TIMEOUT))
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error
