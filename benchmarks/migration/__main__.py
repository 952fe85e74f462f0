"""`python -m benchmarks.migration`: measures batch jobs or single reads."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.gateway.processes import REPOSITORY
from benchmarks.migration import batch_jobs, reads, report
from benchmarks.migration.databases import NAMES

_RESULTS = REPOSITORY / "benchmarks/results"


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser("python -m benchmarks.migration", description=__doc__)
    parser.add_argument("--database", choices=(*NAMES, "both"), default="both", help="[both]")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of a batch job [100000]")
    parser.add_argument(
        "--import",
        dest="importing",
        action="store_true",
        help="begin with an import of the rows from a LAMB database",
    )
    parser.add_argument(
        "--validate", action="store_true", help="run the services that check imported assistants"
    )
    parser.add_argument("--get", action="store_true", help="measure single reads instead")
    parser.add_argument("--assistants", type=int, default=200, help="how many are read [200]")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of reads [7]")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each load of reads [1.5]")
    parser.add_argument("--gate", action="store_true", help="exit with 1 if a limit is missed")
    parser.add_argument(
        "--json", type=Path, help="where the figures are kept [benchmarks/results/migration*.json]"
    )
    return parser.parse_args(arguments)


def main() -> int:
    """Run the benchmark and return the exit code."""
    for each in (signal.SIGTERM, signal.SIGINT):  # also where a shell has set one to be ignored
        signal.signal(each, lambda number, _: sys.exit(128 + number))
    flags = options()
    names = NAMES if flags.database == "both" else (flags.database,)
    if flags.get:
        return _read(flags, names)
    jobs = []
    for name in names:
        with TemporaryDirectory(prefix="heddle-bench-") as folder:
            jobs += batch_jobs.measure(
                name,
                flags.rows,
                Path(folder),
                importing=flags.importing,
                validating=flags.validate,
            )
    print(report.batch_jobs(jobs))
    _keep(flags, "migration.json", {"batch_jobs": jobs})
    return 0


def _read(flags: argparse.Namespace, names: Sequence[str]) -> int:
    measurements = []
    for name in names:
        with TemporaryDirectory(prefix="heddle-bench-") as folder:
            print(f"{name}: {flags.rounds} rounds", file=sys.stderr)
            measurements += reads.measure(
                name,
                Path(folder),
                assistants=flags.assistants,
                rounds=flags.rounds,
                seconds=flags.seconds,
            )
    ratios = report.ratios(measurements)
    print(report.reads(measurements))
    print(report.verdicts(ratios))
    _keep(flags, "migration-get.json", {"ratios": ratios, "measurements": measurements})
    missed = any(one.limited and not one.within_limit for one in ratios)
    return 1 if flags.gate and missed else 0


def _keep(flags: argparse.Namespace, name: str, figures: dict[str, object]) -> None:
    path = flags.json or _RESULTS / name
    used = {key: value for key, value in vars(flags).items() if key != "json"}
    report.keep(path, used, figures)
    print(f"kept in {path}")


if __name__ == "__main__":
    sys.exit(main())
