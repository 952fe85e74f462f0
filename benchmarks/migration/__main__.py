"""`python -m benchmarks.migration`: measures sweeps, or single reads; prints and keeps figures."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.gateway.processes import REPOSITORY
from benchmarks.migration import reads, report, sweeps
from benchmarks.migration.databases import NAMES

_RESULTS = REPOSITORY / "benchmarks/results"


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser("python -m benchmarks.migration", description=__doc__)
    parser.add_argument("--database", choices=(*NAMES, "both"), default="both", help="[both]")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of a sweep [100000]")
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
    asked = options()
    names = NAMES if asked.database == "both" else (asked.database,)
    if asked.get:
        return _read(asked, names)
    found = []
    for name in names:
        with TemporaryDirectory(prefix="heddle-bench-") as folder:
            found += sweeps.measure(name, asked.rows, Path(folder))
    print(report.sweeps(found))
    _keep(asked, "migration.json", {"sweeps": found})
    return 0


def _read(asked: argparse.Namespace, names: Sequence[str]) -> int:
    found = []
    for name in names:
        with TemporaryDirectory(prefix="heddle-bench-") as folder:
            print(f"{name}: {asked.rounds} rounds", file=sys.stderr)
            found += reads.measure(
                name,
                Path(folder),
                assistants=asked.assistants,
                rounds=asked.rounds,
                seconds=asked.seconds,
            )
    ratios = report.ratios(found)
    print(report.reads(found))
    print(report.verdicts(ratios))
    _keep(asked, "migration-get.json", {"ratios": ratios, "measurements": found})
    missed = any(one.limited and not one.kept for one in ratios)
    return 1 if asked.gate and missed else 0


def _keep(asked: argparse.Namespace, name: str, figures: dict[str, object]) -> None:
    path = asked.json or _RESULTS / name
    flags = {key: value for key, value in vars(asked).items() if key != "json"}
    report.keep(path, flags, figures)
    print(f"kept in {path}")


if __name__ == "__main__":
    sys.exit(main())
