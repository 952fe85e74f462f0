"""The service that is measured, as a process of its own."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks.gateway import accounting
from benchmarks.gateway.processes import Command, Process, free_ports, started

SECRET = "32 characters that protect nothing"  # noqa: S105 - of no use elsewhere
READY_WITHIN = 60.0
_POLL = 0.05
_SAMPLE = 0.2
_KIBIBYTES = 1024


@dataclass(frozen=True, slots=True)
class Service:
    """A running service."""

    address: str
    process: Process

    @property
    def pid(self) -> int:
        """Its process."""
        return self.process.popen.pid

    def peak(self) -> float:
        """Return the most memory that it ever had, in MiB: `VmHWM`."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / _KIBIBYTES
        raise RuntimeError("The kernel does not tell VmHWM.")


def environment(url: str, folder: Path) -> dict[str, str]:
    """Return the settings of a service on a database, but for its address."""
    return {
        "HEDDLE_MIGRATION_DATABASE": url,
        "HEDDLE_MIGRATION_ASSISTANTS_DIR": str(folder / "assistants"),
        "HEDDLE_MIGRATION_KEY_PEPPER": SECRET,
        "HEDDLE_MIGRATION_ENCRYPTION_KEY": SECRET,
        "HEDDLE_IDENTITY_SECRET": SECRET,
    }


@contextlib.contextmanager
def serving(url: str, folder: Path) -> Iterator[Service]:
    """Run the service on a database, with the settings that users run it with."""
    address = f"127.0.0.1:{free_ports(1)[0]}"
    settings = environment(url, folder) | {"HEDDLE_MIGRATION_LISTEN": address}
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    with started([Command("heddle_migration_service", environment=settings)], logs) as processes:
        service = Service(address, processes[0])
        _wait(service)
        yield service


@contextlib.contextmanager
def watched(service: Service) -> Iterator[list[float]]:
    """Yield a list whose last element is the peak of the proportional set size so far, in MiB."""
    seen = [accounting.memory([service.pid])]
    stop = Event()

    def watch() -> None:
        while not stop.wait(_SAMPLE):
            seen.append(max(seen[-1], accounting.memory([service.pid])))

    thread = Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def _wait(service: Service) -> None:
    until = time.monotonic() + READY_WITHIN
    with grpc.insecure_channel(service.address) as channel:
        check = health_pb2_grpc.HealthStub(channel).Check  # type: ignore[attr-defined] # its stubs lack methods
        while True:
            with contextlib.suppress(grpc.RpcError):
                check(health_pb2.HealthCheckRequest(), timeout=1)
                return
            if service.process.popen.poll() is not None or time.monotonic() > until:
                raise RuntimeError(service.process.complaint())
            time.sleep(_POLL)
