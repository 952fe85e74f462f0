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
VALIDATING = ("heddle_connector", "heddle_tools_service", "heddle_orchestrator")
"""The services without which the assistants service stores assistants unchecked."""
_POLL = 0.05
_SAMPLE = 0.2
_KIBIBYTES = 1024


@dataclass(frozen=True, slots=True)
class Service:
    """The assistants service, and the migration service if it runs."""

    address: str
    """Of the assistants service."""
    migration: str
    """Of the migration service."""
    processes: tuple[Process, ...]
    """With the services that check assistants, if they run."""

    @property
    def pids(self) -> list[int]:
        """The processes of all services."""
        return [process.popen.pid for process in self.processes]

    def peak(self) -> float:
        """Return the most memory that each had, in MiB, `VmHWM`, summed."""
        return sum(map(_peak, self.pids))


def environment(url: str, folder: Path) -> dict[str, str]:
    """Return the settings of a service on a database, but for its address."""
    return {
        "HEDDLE_ASSISTANTS_DATABASE": url,
        "HEDDLE_ASSISTANTS_DIR": str(folder / "assistants"),
        "HEDDLE_ASSISTANTS_KEY_PEPPER": SECRET,
        "HEDDLE_ASSISTANTS_ENCRYPTION_KEY": SECRET,
        "HEDDLE_IDENTITY_SECRET": SECRET,
    }


@contextlib.contextmanager
def serving(url: str, folder: Path, *, validating: bool, **more: str) -> Iterator[Service]:
    """Run the services on a database, with the settings that users run them with.

    Args:
        url: The address of the database.
        folder: Where files may be written.
        validating: Whether the services run that check assistants.
        more: Further settings.
    """
    assistants, migration, *others = (f"127.0.0.1:{port}" for port in free_ports(5))
    settings = environment(url, folder) | {
        "HEDDLE_ASSISTANTS_LISTEN": assistants,
        "HEDDLE_ASSISTANTS_ADDRESS": assistants,
        "HEDDLE_MIGRATION_LISTEN": migration,
        **more,
    }
    for name, address in zip(("CONNECTOR", "TOOLS", "ORCHESTRATOR"), others, strict=True):
        settings |= {f"HEDDLE_{name}_LISTEN": address, f"HEDDLE_{name}_ADDRESS": address}
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    checking = dict(zip(VALIDATING, others, strict=True)) if validating else {}
    at = {"heddle_assistants": assistants, "heddle_migration_service": migration, **checking}
    with started([Command(each, environment=settings) for each in at], logs) as processes:
        for address, process in zip(at.values(), processes, strict=True):
            _wait(address, process)
        yield Service(assistants, migration, tuple(processes))


@contextlib.contextmanager
def watched(service: Service) -> Iterator[list[float]]:
    """Yield a list whose last element is the peak of the proportional set size so far, in MiB."""
    seen = [accounting.memory(service.pids)]
    stop = Event()

    def watch() -> None:
        while not stop.wait(_SAMPLE):
            seen.append(max(seen[-1], accounting.memory(service.pids)))

    thread = Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def _peak(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / _KIBIBYTES
    raise RuntimeError("The kernel does not report VmHWM.")


def _wait(address: str, process: Process) -> None:
    until = time.monotonic() + READY_WITHIN
    with grpc.insecure_channel(address) as channel:
        check = health_pb2_grpc.HealthStub(channel).Check  # type: ignore[attr-defined] # its stubs lack methods
        while True:
            with contextlib.suppress(grpc.RpcError):
                check(health_pb2.HealthCheckRequest(), timeout=1)
                return
            if process.popen.poll() is not None or time.monotonic() > until:
                raise RuntimeError(process.complaint())
            time.sleep(_POLL)
