"""Calls that a service makes in its own name instead of on behalf of its caller."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from heddle_runtime.errors import from_rpc
from heddle_runtime.identity.call_metadata import Caller, calling_as, new_call_options, on_behalf_of
from heddle_runtime.identity.callers import SERVICE, Identity

_TIMEOUT_SECONDS = 5.0
ResponseT = TypeVar("ResponseT")


class ServiceCredentials:
    """The identity of a service. Use as `with credentials.as_service(): await stub.Method(…)`."""

    def __init__(self, service: str) -> None:
        self._identity = Identity(service, scopes=(SERVICE,))

    def as_service(self) -> AbstractContextManager[None]:
        """Send the calls in a block as this service, with the id of the current request."""
        return calling_as(self.caller())

    async def call(
        self,
        method: Callable[..., Awaitable[ResponseT]],
        request: Message,
        seconds: float = _TIMEOUT_SECONDS,
    ) -> ResponseT:
        """Call a method as this service, with a timeout, and return the response.

        Raises:
            HeddleError: The call failed.
        """
        try:
            with self.as_service():
                return await method(request, **new_call_options(seconds))
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error

    def caller(self) -> Caller:
        """Return this service as the caller, with the id of the current request."""
        return on_behalf_of(self._identity)
