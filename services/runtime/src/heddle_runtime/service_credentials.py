"""Calls that a service makes for itself, and not in the name of whoever asks it."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from heddle_runtime.call_metadata import CALLER, Caller, caller, new_call_options
from heddle_runtime.errors import from_rpc
from heddle_runtime.identity import SERVICE, Identity, TokenSigner

_TIMEOUT = 5.0
ResponseT = TypeVar("ResponseT")


class ServiceCredentials:
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

    async def ask(self, method: Callable[..., Awaitable[ResponseT]], request: Message) -> ResponseT:
        """Return what another service answers to this one, within 5 s.

        Raises:
            HeddleError: The call failed.
        """
        try:
            with self.itself():
                return await method(request, **new_call_options(_TIMEOUT))
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error

    def caller(self) -> Caller:
        """Return the service as the one who asks, under the same request."""
        asked = caller()
        token = self._signer.token(self._identity) if self._signer else ""
        return Caller(asked.request_id, self._identity, token, asked.traceparent)
