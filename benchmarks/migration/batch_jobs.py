"""Batch jobs over many assistants: how fast, with how much memory, and whether rightly."""

import json
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from benchmarks.gateway import accounting
from benchmarks.gateway.processes import environment
from benchmarks.migration import lamb
from benchmarks.migration.databases import fill, fingerprint, fresh
from benchmarks.migration.rows import rows
from benchmarks.migration.service import SECRET, Service, serving, watched

IMPORT = ("import-lamb",)
BATCH_JOBS = {
    "dry run": ("migrate", "--dry-run"),
    "migrate": ("migrate", "--all"),
    "migrate again": ("migrate", "--all"),
    "roll back": ("migrate", "--rollback"),
}
REFUSED = 1  # the exit code of a batch job that met broken rows


class BatchJob(msgspec.Struct, frozen=True):
    """One `heddle migrate` or `heddle import-lamb` over all rows."""

    database: str
    job: str
    seconds: float
    """From the start of the command to its end."""
    rows: int
    changed: int
    refused: int
    rate: float
    """Rows in a second."""
    cpu: float
    """CPU seconds of all services."""
    rest: float
    """MiB of all services before, as proportional set size."""
    peak: float
    """The most MiB during the batch job, likewise."""
    high_water: float
    """The most MiB that the service had since its start, as `VmHWM`."""


class WrongBatchJobError(Exception):
    """Raised when a batch job did not do what it should have. The message says what."""


def measure(
    name: str, count: int, folder: Path, *, importing: bool, validating: bool
) -> list[BatchJob]:
    """Migrate and roll back `count` rows of a fresh database.

    Args:
        name: The kind of the database.
        count: The number of rows.
        folder: Where files may be written.
        importing: Whether the rows come from a LAMB database through the services.
        validating: Whether the services run that check assistants.
    """
    settings: dict[str, str] = {}
    with fresh(name, folder) as url:
        _say(f"{name}: writing {count} rows")
        if importing:
            before = lamb.write(folder / "lamb.db", rows(count))
            settings["HEDDLE_MIGRATION_LAMB_DATABASE"] = str(folder / "lamb.db")
        else:
            fill(url, rows(count))
            before = fingerprint(url)
        with serving(url, folder, validating=validating, **settings) as service:
            jobs = []
            if importing:
                _say(f"{name}: import")
                jobs.append(_run(name, "import", IMPORT, service))
                if (jobs[0].changed, fingerprint(url)) != (count, before):
                    raise WrongBatchJobError(f"The import changed rows, or left some out: {jobs}")
            for job, arguments in BATCH_JOBS.items():
                _say(f"{name}: {job}")
                jobs.append(_run(name, job, arguments, service))
        _check(jobs[-len(BATCH_JOBS) :], count, same=fingerprint(url) == before)
    return jobs


def _run(database: str, job: str, arguments: tuple[str, ...], service: Service) -> BatchJob:
    rest = accounting.memory(service.pids)
    used = accounting.cpu_seconds(service.pids)
    with watched(service) as memory:
        began = time.monotonic()
        counts = _command(service.migration, arguments)
        seconds = time.monotonic() - began
    return BatchJob(
        database=database,
        job=job,
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
        [sys.executable, "-m", "heddle_cli", *arguments, "--json"],
        env=environment() | {"HEDDLE_MIGRATION_ADDRESS": address, "HEDDLE_IDENTITY_SECRET": SECRET},
        stdout=subprocess.PIPE,
        check=False,
        text=True,
    )
    if done.returncode not in (0, REFUSED) or not done.stdout:
        raise WrongBatchJobError(f"heddle {' '.join(arguments)} failed; it said why above.")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    counts: dict[str, int] = next(
        record
        for record in reversed(records)
        if record["kind"] == "counts" and record["table"] in ("", "assistants")
    )
    return counts


def _check(jobs: list[BatchJob], count: int, *, same: bool) -> None:
    dry, migrated, again, rolled_back = jobs
    expected = count - migrated.refused
    right = {
        "a dry run says what a migration does": dry.changed == migrated.changed == expected,
        "a second migration changes nothing": again.changed == 0,
        "a rollback takes everything back": rolled_back.changed == expected
        and rolled_back.refused == 0,
        "the documents are what they were, byte for byte": same,
    }
    for what, holds in right.items():
        if not holds:
            raise WrongBatchJobError(f"It is not so that {what}: {jobs}")


def _say(what: str) -> None:
    print(what, file=sys.stderr)
