"""Sweeps over many assistants: how fast, with how much memory, and whether rightly."""

import json
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from benchmarks.gateway import accounting
from benchmarks.gateway.processes import environment
from benchmarks.migration.databases import fill, fingerprint, fresh
from benchmarks.migration.rows import rows
from benchmarks.migration.service import SECRET, Service, serving, watched

SWEEPS = {
    "dry run": ("--dry-run",),
    "migrate": ("--all",),
    "migrate again": ("--all",),
    "roll back": ("--rollback",),
}
REFUSED = 1  # the exit code of a sweep that met broken rows


class Sweep(msgspec.Struct, frozen=True):
    """One `heddle migrate` over all rows."""

    database: str
    sweep: str
    seconds: float
    """From the start of the command to its end."""
    rows: int
    changed: int
    refused: int
    rate: float
    """Rows in a second."""
    cpu: float
    """CPU seconds of both services."""
    rest: float
    """MiB of both services before, as proportional set size."""
    peak: float
    """The most MiB during the sweep, likewise."""
    high_water: float
    """The most MiB that the service had since its start, as `VmHWM`."""


class WrongSweepError(Exception):
    """Raised when a sweep did not do what it should have. The message says what."""


def measure(name: str, count: int, folder: Path) -> list[Sweep]:
    """Sweep forth and back over `count` rows of a fresh database."""
    with fresh(name, folder) as url:
        _say(f"{name}: filling {count} rows")
        fill(url, rows(count))
        before = fingerprint(url)
        with serving(url, folder) as service:
            found = []
            for sweep, arguments in SWEEPS.items():
                _say(f"{name}: {sweep}")
                found.append(_sweep(name, sweep, arguments, service))
        _check(found, count, same=fingerprint(url) == before)
    return found


def _sweep(database: str, sweep: str, arguments: tuple[str, ...], service: Service) -> Sweep:
    rest = accounting.memory(service.pids)
    used = accounting.cpu_seconds(service.pids)
    with watched(service) as memory:
        began = time.monotonic()
        counts = _command(service.migration, arguments)
        seconds = time.monotonic() - began
    return Sweep(
        database=database,
        sweep=sweep,
        seconds=seconds,
        rows=counts["total"],
        changed=counts["changed"],
        refused=counts["refused"],
        rate=counts["total"] / seconds,
        cpu=accounting.cpu_seconds(service.pids) - used,
        rest=rest,
        peak=memory[-1],
        high_water=service.peak(),
    )


def _command(address: str, arguments: tuple[str, ...]) -> dict[str, int]:
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "heddle_cli", "migrate", "--json", *arguments],
        env=environment() | {"HEDDLE_MIGRATION_ADDRESS": address, "HEDDLE_IDENTITY_SECRET": SECRET},
        stdout=subprocess.PIPE,
        check=False,
        text=True,
    )
    if done.returncode not in (0, REFUSED) or not done.stdout:
        raise WrongSweepError(f"heddle migrate {' '.join(arguments)} failed; it said why above.")
    counts: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return counts


def _check(found: list[Sweep], count: int, *, same: bool) -> None:
    dry, forth, again, back = found
    expected = count - forth.refused
    right = {
        "a dry run says what a migration does": dry.changed == forth.changed == expected,
        "a second migration changes nothing": again.changed == 0,
        "a rollback takes everything back": back.changed == expected and back.refused == 0,
        "the documents are what they were, byte for byte": same,
    }
    for what, holds in right.items():
        if not holds:
            raise WrongSweepError(f"It is not so that {what}: {found}")


def _say(what: str) -> None:
    print(what, file=sys.stderr)
