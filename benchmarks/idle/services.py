"""Starts each service as its own process, in the order of Compose, and measures it."""

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from heddle_runtime.serving.health import healthy

from benchmarks.gateway.processes import Command, Process, free_ports, started
from benchmarks.gateway.systems import heddle_environment
from docs.project.images import read_compose, stages

UPSTREAM = "benchmarks.gateway.upstream"
GATEWAY = "gateway"
MEBIBYTE = 1024 * 1024
_START_SECONDS = 60.0
_POLL_SECONDS = 0.01
_REST_POLL_SECONDS = 1.0
_FOLDERS = {"migration-service": "migration", "tools-service": "tools"}


class NotReadyError(Exception):
    """A service did not become healthy."""


class NotAtRestError(Exception):
    """Processes that a service started for work have not ended."""


@dataclass(slots=True)
class Service:
    """A started service."""

    name: str
    process: Process
    ready_seconds: float
    """From the start of its process until its health check succeeds."""

    def processes(self) -> list[psutil.Process]:
        """Return the service's own process, then those that it has started."""
        own = psutil.Process(self.process.popen.pid)
        return [own, *own.children(recursive=True)]

    def memory(self) -> float:
        """Return the proportional set size of the service in MiB, with that of its processes."""
        sizes = (process.memory_full_info().pss for process in self.processes())
        return sum(sizes) / MEBIBYTE


@dataclass(slots=True)
class Installation:
    """All services."""

    address: str
    """Of the gateway."""
    services: list[Service] = field(default_factory=list)

    def ready(self) -> dict[str, float]:
        """Return the seconds that each service took to become ready."""
        return {service.name: service.ready_seconds for service in self.services}

    def memory(self) -> dict[str, float]:
        """Return the memory of each service in MiB."""
        return {service.name: _measured(service) for service in self.services}

    def rest(self, seconds: float) -> None:
        """Wait until all processes have ended that services started for work.

        Args:
            seconds: How long to wait at most.

        Raises:
            NotAtRestError: One of them has not ended.
        """
        until = time.monotonic() + seconds
        while True:
            busy = [service.name for service in self.services if len(service.processes()) > 1]
            if not busy:
                return
            if time.monotonic() > until:
                raise NotAtRestError(
                    f"Processes of {', '.join(busy)} still run {seconds:g} seconds after the work."
                )
            time.sleep(_REST_POLL_SECONDS)


def _measured(service: Service) -> float:
    while True:
        try:
            return service.memory()
        except psutil.NoSuchProcess:  # one of its processes has just ended
            if service.process.popen.poll() is not None:
                raise NotReadyError(service.process.complaint()) from None


@contextmanager
def settings_of(folder: Path, assistants: dict[str, str]) -> Iterator[dict[str, str]]:
    """Yield settings for all services, and run the provider that they name.

    They are those that Compose has by default, with the variables of the images.

    Args:
        folder: For data and logs.
        assistants: YAML of assistants, by their ids.
    """
    upstream, *ports = free_ports(1 + len(_modules()))
    settings = heddle_environment(ports, upstream, folder / "heddle") | _variables_of_images()
    for name, text in assistants.items():
        (folder / "heddle" / "assistants" / f"{name}.yaml").write_text(text)
    logs = folder / "logs"
    logs.mkdir()
    with started([Command(UPSTREAM, (str(upstream),))], logs):
        yield settings


@contextmanager
def installation(settings: dict[str, str], logs: Path) -> Iterator[Installation]:
    """Run all services, each after those that it depends on."""
    with ExitStack() as running:
        installed = Installation(settings["HEDDLE_GATEWAY_LISTEN"])
        for name in _in_order():
            module = _modules()[name]
            at = time.monotonic()
            [process] = running.enter_context(
                started([Command(module, environment=settings)], logs)
            )
            _wait(process, _address(name, settings))
            installed.services.append(Service(name, process, time.monotonic() - at))
        yield installed


def _modules() -> dict[str, str]:
    """Return the modules of the services that Compose starts without a profile."""
    return {
        name: service["build"]["args"]["MODULE"]
        for name, service in read_compose()["services"].items()
        if "build" in service and "profiles" not in service
    }


def _in_order() -> Sequence[str]:
    """Return the services, each after those that it depends on."""
    services = read_compose()["services"]
    names: list[str] = []
    left = set(_modules())
    while left:
        ready = sorted(
            name for name in left if not left & set(services[name].get("depends_on", {}))
        )
        names += ready
        left -= set(ready)
    return names


def _variables_of_images() -> dict[str, str]:
    """Return what the Dockerfile sets for the C library and Python in all images."""
    text = " ".join(each.text for each in stages()[-1] if each.name == "ENV")
    pairs = dict(pair.split("=", 1) for pair in text.split())
    return {
        name: value
        for name, value in pairs.items()
        if name.startswith(("MALLOC_", "PYTHON", "GRPC_", "OMP_"))
    }


def _address(name: str, settings: dict[str, str]) -> str:
    prefix = _FOLDERS.get(name, name).upper()
    address = settings[f"HEDDLE_{prefix}_LISTEN"]
    return f"http://{address}/status" if name == GATEWAY else address


def _wait(process: Process, address: str) -> None:
    until = time.monotonic() + _START_SECONDS
    host = address.removeprefix("http://").partition("/")[0]
    # gRPC waits longer and longer between two attempts to connect to a port that is closed.
    while not _accepts(host) or not healthy(address):
        if process.popen.poll() is not None or time.monotonic() > until:
            raise NotReadyError(process.complaint())
        time.sleep(_POLL_SECONDS)


def _accepts(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        return not probe.connect_ex((host, int(port)))
