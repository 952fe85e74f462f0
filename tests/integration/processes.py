"""Heddle as operators run it: a process for each service."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import httpx
import preloaded
from grpc_health.v1 import health_pb2, health_pb2_grpc
from heddle_runtime.settings.mutual_tls import TlsSettings, uses_tls
from new_databases import database_in
from runtime.ports import free_port

GATEWAY = "heddle_gateway"
TOOLS = "heddle_tools_service"
MODULES = {
    "heddle_connector": "CONNECTOR",
    "heddle_knowledge": "KNOWLEDGE",
    TOOLS: "TOOLS",
    "heddle_assistants": "ASSISTANTS",
    "heddle_migration_service": "MIGRATION",
    "heddle_orchestrator": "ORCHESTRATOR",
    GATEWAY: "GATEWAY",
}
"""The modules of the services, and how their settings are named."""
ONE_PROCESS = ("heddle_devstack",)
_RECONNECT_SECONDS = 1.2
"""How long a service at most takes to try again to connect to one that did not listen yet."""


@dataclass
class Processes:
    """One process for each service, on free ports."""

    folder: Path
    environment: dict[str, str]
    ports: dict[str, int] = field(default_factory=dict)
    running: dict[str, preloaded.Started] = field(default_factory=dict)
    cwd: Path | None = None
    """Where their default folders are."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports[GATEWAY]}"

    def start(self, module: str) -> None:
        environment = {**os.environ, **self.environment}
        with (self.folder / f"{module}.log").open("ab") as log:
            self.running[module] = preloaded.start(module, environment, log.fileno(), self.cwd)

    def kill(self, module: str) -> None:
        self.running[module].send_signal(signal.SIGKILL)
        self.running[module].wait()

    def restart(self, module: str) -> None:
        """Start a killed service again, and wait until the others have connected to it."""
        self.start(module)
        self.wait_until_ready(module)
        time.sleep(_RECONNECT_SECONDS)

    def wait_until_ready(self, module: str, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while not self.is_ready(module):
            if time.monotonic() > until or self.running[module].poll() is not None:
                raise AssertionError(f"{module} does not start:\n{self.log(module)[-3000:]}")
            time.sleep(0.02)

    def address(self, module: str) -> str:
        return self.environment[f"HEDDLE_{MODULES[module]}_LISTEN"]

    def channel(self, module: str) -> grpc.Channel:
        files = {name: Path(file) for name, file in self.environment.items() if "_TLS_" in name}
        tls = TlsSettings(**files).tls
        if tls and uses_tls(self.address(module)):
            return grpc.secure_channel(self.address(module), tls.of_client())
        return grpc.insecure_channel(self.address(module))

    def log(self, module: str) -> str:
        return (self.folder / f"{module}.log").read_text()

    def is_ready(self, module: str) -> bool:
        if module in (GATEWAY, *ONE_PROCESS):
            with contextlib.suppress(httpx.HTTPError):
                return answered(self.url, timeout=1)
            return False
        with self.channel(module) as channel:
            check = health_pb2_grpc.HealthStub(channel).Check  # type: ignore[attr-defined] # its stubs lack methods
            with contextlib.suppress(grpc.RpcError):
                response = check(health_pb2.HealthCheckRequest(), timeout=1)
                return bool(response.status == health_pb2.HealthCheckResponse.SERVING)
        return False


def answered(url: str, *, timeout: float) -> bool:
    """Return whether a gateway says that it is well, without loading certificates."""
    response = httpx.get(f"{url}/status", timeout=timeout, verify=False)  # noqa: S501 - plain HTTP
    return response.status_code == httpx.codes.OK


@contextlib.asynccontextmanager
async def processes(
    folder: Path,
    modules: Sequence[str] = tuple(MODULES),
    **environment: str,
) -> AsyncIterator[Processes]:
    """Run all services; assistants come from `folder`/assistants.

    Args:
        folder: Where they keep their data.
        modules: What to start: a process for each service, or `ONE_PROCESS`.
        environment: Further settings.
    """
    ports = {
        module: _port(environment.get(f"HEDDLE_{name}_LISTEN", ""))
        for module, name in MODULES.items()
    }
    at = {name: f"127.0.0.1:{ports[module]}" for module, name in MODULES.items()}
    given = environment.get("HEDDLE_ASSISTANTS_DATABASE")
    services = Processes(
        folder,
        {
            **{f"HEDDLE_{name}_LISTEN": address for name, address in at.items()},
            **{f"HEDDLE_{name}_ADDRESS": address for name, address in at.items()},
            "HEDDLE_GATEWAY_DEVELOPMENT": "1",
            "HEDDLE_LOCAL_SECRET_FILE": str(folder / "identity-secret"),
            "HEDDLE_KNOWLEDGE_DATA_DIR": str(folder / "knowledge"),
            "HEDDLE_ASSISTANTS_DIR": str(folder / "assistants"),
            "HEDDLE_ASSISTANTS_DATABASE": given or database_in(folder),
            **environment,
        },
        ports,
    )
    try:
        for module in modules:
            await asyncio.to_thread(services.start, module)
        for module in modules:
            await asyncio.to_thread(services.wait_until_ready, module)
        if len(modules) > 1:
            await asyncio.sleep(_RECONNECT_SECONDS)
        yield services
    finally:
        for process in services.running.values():
            process.kill()
            process.wait()


def _port(listen: str) -> int:
    """Return the port of an address, or a free one; it is not used for a Unix socket."""
    port = listen.rpartition(":")[2]
    return int(port) if port.isdecimal() else free_port()
