"""Channels to other services."""

import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions
from pydantic import SecretStr

from heddle_runtime.contract.limits import MAX_MESSAGE_BYTES
from heddle_runtime.identity.callers import TokenSigner
from heddle_runtime.rpc.in_process import InProcessStream
from heddle_runtime.rpc.multiplex.channel import MultiplexedChannel
from heddle_runtime.rpc.multiplex.client import BEAT_SECONDS, SILENCE_SECONDS
from heddle_runtime.settings.mutual_tls import TlsFiles, uses_tls
from heddle_runtime.settings.service import ServiceSettings
from heddle_runtime.settings.service_address import Location, parse

KEEPALIVE_MS = 2_000
KEEPALIVE_TIMEOUT_MS = round(1_000 * (SILENCE_SECONDS + 3 * BEAT_SECONDS))
"""The time limit of a ping. It exceeds `SILENCE_SECONDS`, so that a stream ends before: a channel
refuses calls at once only if a stream found that the server hangs. After a ping without an answer,
each call waits for attempts to connect."""
RETRY_POLICY = {
    "maxAttempts": 4,
    "initialBackoff": "0.1s",
    "maxBackoff": "1s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"],
}
OPTIONS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # Otherwise a proxy from the environment receives even calls within this machine.
    ("grpc.enable_http_proxy", 0),
    # Otherwise a channel fails its first calls because another one of this process could not reach
    # the same address shortly before.
    ("grpc.use_local_subchannel_pool", 1),
    # Pings detect that a server without multiplexing hangs. The second timeout must be set as
    # well: it takes precedence, and its default is a minute.
    ("grpc.keepalive_time_ms", KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ("grpc.http2.ping_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # Reconnect to a restarted service before its other replica stops, which a rolling update may
    # do at once: a service that stops takes calls for half a second (`drain_wait`).
    ("grpc.initial_reconnect_backoff_ms", 100),
    # Also the timeout of an attempt to connect, which a busy machine must be able to meet.
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 300),
    # Look a name up again when its replicas have moved, and not only half a minute later.
    ("grpc.dns_min_time_between_resolutions_ms", 1_000),
]
ResponseT = TypeVar("ResponseT")
ResponseT_co = TypeVar("ResponseT_co", covariant=True)


class ResponseStream(Protocol[ResponseT_co]):
    """A server-streaming call, over gRPC or within the process."""

    def __aiter__(self) -> AsyncIterator[ResponseT_co]:
        """Iterate over the responses."""

    def cancel(self) -> bool:
        """Cancel the call at the server."""


class streaming(Generic[ResponseT]):  # noqa: N801 - used like a function
    """Ends a call when the block exits, also by an exception.

    Use as `async with streaming(stub.Method(request, **call_options(context))) as responses:`.
    """

    __slots__ = ("_call",)

    def __init__(self, call: ResponseStream[ResponseT]) -> None:
        self._call = call

    async def __aenter__(self) -> ResponseStream[ResponseT]:
        return self._call

    async def __aexit__(self, *_: object) -> None:
        if isinstance(self._call, InProcessStream):
            await self._call.aclose()
        else:
            self._call.cancel()


def contract_of(generated: Callable[..., Any]) -> ServiceDescriptor:
    """Return the contract of a generated stub class or `add_…Servicer_to_server`."""
    contracts = sys.modules[generated.__module__.removesuffix("_grpc")].DESCRIPTOR
    name = generated.__name__.removeprefix("add_").removesuffix("Servicer_to_server")
    contract: ServiceDescriptor = contracts.services_by_name[name.removesuffix("Stub")]
    return contract


def service_channel(
    settings: ServiceSettings, address: str, *services: ServiceDescriptor
) -> grpc.aio.Channel:
    """Return a `channel` to services of this installation, with the secret and files it shares."""
    return channel(address, *services, secret=settings.identity_secret, tls=settings.tls)


def channel(
    address: str,
    *services: ServiceDescriptor,
    secret: SecretStr | None = None,
    tls: TlsFiles | None = None,
) -> grpc.aio.Channel:
    """Return a channel that retries the calls whose contracts mark them as idempotent.

    Calls are balanced over the replicas at the address (see `settings.service_address`), and
    multiplexed if the server offers it (see `rpc.multiplex`). The secret signs the identity of the
    caller for the service that is called. `tls` is for addresses with a port.

    Raises:
        ValueError: The address is none.
    """

    def connect(to: Location, checks_health: bool) -> grpc.aio.Channel:  # noqa: FBT001 - see `Connect`
        config = json.dumps(service_config(*services, checks_health=checks_health))
        options = [*OPTIONS, ("grpc.service_config", config)]
        if tls and uses_tls(to.target):
            if to.authority:
                options.append(("grpc.default_authority", to.authority))
            return grpc.aio.secure_channel(to.target, tls.of_client(), options)
        return grpc.aio.insecure_channel(to.target, options)

    return MultiplexedChannel(
        parse(address),
        connect,
        {f"/{service}/{method}" for service, method in _safe(*services)},
        TokenSigner(secret.get_secret_value()) if secret else None,
    )


def to_each_replica(to: grpc.aio.Channel) -> dict[str, grpc.aio.Channel]:
    """Return channels for unary calls to one replica of a service each, by their addresses.

    A service of this process is one replica without an address.
    """
    return to.to_each_replica() if isinstance(to, MultiplexedChannel) else {"": to}


def service_config(*services: ServiceDescriptor, checks_health: bool = False) -> dict[str, object]:
    """Derive the gRPC service config from the methods' `idempotency_level`.

    With `checks_health`, a new connection gets calls when the health service of its replica says
    that it serves. gRPC does not notice a replica that hangs later.
    """
    safe = [{"service": service, "method": method} for service, method in _safe(*services)]
    return {
        "loadBalancingConfig": [{"round_robin": {}}],
        "methodConfig": [{"name": safe, "retryPolicy": RETRY_POLICY}] if safe else [],
        # gRPC repeats calls until half of the tokens are used up. A replica that is killed takes
        # one for each of its calls, so that few tokens would let the calls beyond them fail.
        "retryThrottling": {"maxTokens": 1000, "tokenRatio": 0.1},
        **({"healthCheckConfig": {"serviceName": ""}} if checks_health else {}),
    }


def _safe(*services: ServiceDescriptor) -> Iterator[tuple[str, str]]:
    """Yield the methods that may be repeated.

    Not streaming methods: only the caller knows how much of a stream it has processed.
    """
    for service in services:
        for method in service.methods:
            level = method.GetOptions().idempotency_level
            if level != MethodOptions.IDEMPOTENCY_UNKNOWN and not method.server_streaming:
                yield service.full_name, method.name
