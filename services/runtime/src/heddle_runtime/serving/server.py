"""Runs the gRPC server of a service."""

import asyncio
import gc
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import grpc
import structlog
import uvloop
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.internal import api_implementation
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from heddle.health.v1 import health_pb2_grpc as health_grpc

from heddle_runtime.contract.limits import MAX_MESSAGE_BYTES
from heddle_runtime.errors import HeddleError
from heddle_runtime.errors.conditions import Check
from heddle_runtime.identity.callers import TokenVerifier
from heddle_runtime.rpc.admission import AdmissionControl
from heddle_runtime.rpc.client import contract_of
from heddle_runtime.rpc.in_process import InProcessChannel
from heddle_runtime.rpc.multiplex.server import MultiplexServicer, add_multiplexing
from heddle_runtime.serving import unix_sockets
from heddle_runtime.serving.background import in_background
from heddle_runtime.serving.loop_watch import watched_loop
from heddle_runtime.serving.readiness import CHECK_SECONDS, HealthServicer, Readiness
from heddle_runtime.serving.reflection import enable_reflection
from heddle_runtime.settings.addresses import is_local
from heddle_runtime.settings.local_secret import admits_developer
from heddle_runtime.settings.service import ServiceSettings, read
from heddle_runtime.storage.private_files import create_private_files
from heddle_runtime.telemetry import logs
from heddle_runtime.telemetry.export import exporting
from heddle_runtime.telemetry.metrics.endpoint import serving_metrics

SettingsT = TypeVar("SettingsT", bound=ServiceSettings)
log = structlog.get_logger(__name__)
_YOUNG_OBJECTS = 20_000
_PARENT_SECONDS = 0.5
_LONG_CALLS = 500
"""Further calls of gRPC: streams and health watches, and calls that wait for their refusal."""
OPTIONS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # Without this a forgotten process on the same port silently takes half of the calls.
    ("grpc.so_reuseport", 0),
    # Clients of Heddle ping every two seconds; the default would call that abuse.
    ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
    ("grpc.keepalive_permit_without_calls", 1),
]


@dataclass(frozen=True, slots=True)
class Binding:
    """A servicer and the contract it fulfils."""

    contract: ServiceDescriptor
    register: Callable[[Any], None]
    checks: Mapping[str, Check] = field(default_factory=dict)
    """The components that the servicer needs, by name."""


App = AbstractAsyncContextManager[Sequence[Binding]]


@dataclass(frozen=True, slots=True)
class Running:
    """A started service."""

    address: str
    """The address on which it listens, with the port filled in."""
    local: grpc.aio.Channel
    """The same service for callers in this process (see `heddle_runtime.rpc.in_process`)."""


@asynccontextmanager
async def running(
    app: App, settings: ServiceSettings, local: InProcessChannel | None = None
) -> AsyncGenerator[Running]:
    """Serve `app` until the block is left, then let running calls finish.

    Args:
        app: What is served.
        settings: The settings of the service.
        local: The channel for callers in this process, if they have it already.
    """
    if api_implementation.Type() != "upb":
        log.warning("protobuf runs without its C core and is slow; install its binary wheel")
    secret = settings.identity_secret
    verifier = TokenVerifier(secret.get_secret_value())
    admission = AdmissionControl(
        verifier,
        settings.max_concurrent_calls,
        admits_developer(secret, settings.listen),
    )
    async with app as served:
        readiness = Readiness(
            {name: check for binding in served for name, check in binding.checks.items()}
        )
        own = bind(health_grpc.add_HealthServiceServicer_to_server, HealthServicer(readiness))
        bindings = [*served, own]
        server = grpc.aio.server(
            options=OPTIONS, maximum_concurrent_rpcs=settings.max_concurrent_calls + _LONG_CALLS
        )
        multiplexer = MultiplexServicer(admission)
        local = local or InProcessChannel()
        names = [binding.contract.full_name for binding in bindings]
        for binding in bindings:
            binding.register(local)
            binding.register(multiplexer.methods)
        local.open()
        multiplexer.methods.serve(server, admission)
        if settings.multiplexing:
            add_multiplexing(multiplexer, server)
        checks = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(checks, server)
        described = [*names, health.SERVICE_NAME]
        enable_reflection(server, described, None if is_local(settings.listen) else verifier)
        port = _listen(server, settings)
        await server.start()
        await readiness.update()

        async def set_statuses() -> None:
            multiplexer.announce_serving(readiness.serving)
            await _set_statuses(readiness, checks, ("", *names))

        await set_statuses()
        reporting = asyncio.create_task(_report(readiness, set_statuses))
        address = _reachable(settings.listen, port)
        log.info("serving", address=address, services=names)
        try:
            yield Running(address, cast("grpc.aio.Channel", local))
        finally:
            reporting.cancel()
            await asyncio.gather(reporting, return_exceptions=True)
            await checks.enter_graceful_shutdown()
            await asyncio.sleep(settings.drain_wait)
            multiplexer.drain()
            await server.stop(settings.shutdown_grace)
            log.info("stopped", address=address)


async def _report(readiness: Readiness, set_statuses: Callable[[], Awaitable[None]]) -> None:
    """Check the components again and again, and set the statuses when readiness changes."""
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        before = readiness.serving
        await readiness.update()
        if readiness.serving != before:
            await set_statuses()


async def _set_statuses(
    readiness: Readiness, checks: health.aio.HealthServicer, names: Sequence[str]
) -> None:
    statuses = health_pb2.HealthCheckResponse
    for name in names:
        await checks.set(name, statuses.SERVING if readiness.serving else statuses.NOT_SERVING)


def serve(
    service: str,
    kind: type[SettingsT],
    app: Callable[..., App],
    connect: Callable[[SettingsT], AbstractAsyncContextManager[object]] | None = None,
) -> None:
    """The `main` of a service: serve with settings of the environment until SIGTERM or SIGINT.

    Args:
        service: The name of the service in logs.
        kind: The class of its settings.
        app: Returns what is served with the settings, and with what `connect` yields.
        connect: Yields clients of other services.
    """
    logs.configure(service)  # for what happens before the level is known
    settings = read(kind)

    @asynccontextmanager
    async def connected() -> AsyncGenerator[Sequence[Binding]]:
        async with AsyncExitStack() as exits:
            clients = [await exits.enter_async_context(connect(settings))] if connect else []
            yield await exits.enter_async_context(app(settings, *clients))

    run(connected(), settings, service)


def run(app: App, settings: ServiceSettings, service: str) -> None:
    """Serve `app` until SIGTERM or SIGINT."""
    logs.configure(service, settings.log_level)

    async def main() -> None:
        with serving_metrics(settings, service), exporting(service, settings):
            async with running(app, settings):
                await stopped(settings)

    start(main())


def start(main: Coroutine[Any, Any, None]) -> None:
    """Run the main coroutine of a process. A wrong address or file ends it with one sentence."""
    create_private_files()
    try:
        uvloop.run(_watched(main))
    except (OSError, ValueError, HeddleError) as error:
        logs.cannot_start("heddle", [{"problem": str(error)}])


async def _watched(main: Coroutine[Any, Any, None]) -> None:
    async with watched_loop():
        await main


def settle() -> None:
    """Exclude the objects that are loaded now from garbage collection.

    Otherwise it walks through a hundred thousand objects of imported modules again and again,
    which costs a small request about a tenth of its time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])


async def stopped(settings: ServiceSettings) -> None:
    """Wait for SIGTERM or SIGINT, or for the end of the parent, with everything started."""
    settle()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    if not settings.end_with_parent:
        await stop.wait()
        return
    async with in_background(_end_with_parent(stop)):
        await stop.wait()


async def _end_with_parent(stop: asyncio.Event) -> None:
    parent = os.getppid()
    while os.getppid() == parent:  # noqa: ASYNC110 - the kernel tells only by signals of threads
        await asyncio.sleep(_PARENT_SECONDS)
    log.warning("the process that started this service has ended")
    stop.set()


def bind(
    register: Callable[[Any, Any], None],
    servicer: object,
    checks: Mapping[str, Check] | None = None,
) -> Binding:
    """Return the binding of `servicer` to its contract.

    Args:
        register: The generated `add_…_to_server`.
        servicer: The implementation of the contract.
        checks: The components that it needs, by name.
    """
    return Binding(contract_of(register), lambda server: register(servicer, server), checks or {})


def _listen(server: grpc.aio.Server, settings: ServiceSettings) -> int:
    address, tls = settings.listen, settings.tls
    if is_socket := address.startswith(unix_sockets.PREFIX):
        unix_sockets.prepare(address)
    try:
        if tls and not is_socket:
            return server.add_secure_port(address, tls.of_server())
        port = server.add_insecure_port(address)
    except RuntimeError as error:  # which says less than this
        message = f"Cannot listen on {address}: it is taken, or no address of this machine."
        raise OSError(message) from error
    if is_socket:
        unix_sockets.make_private(address)
    return port


def _reachable(address: str, port: int) -> str:
    if address.startswith(unix_sockets.PREFIX):
        return address
    host = address.rpartition(":")[0]
    return f"{'127.0.0.1' if host in ('0.0.0.0', '[::]') else host}:{port}"  # noqa: S104 - compared, not bound
