"""`python -m benchmarks.gateway`: measures, prints a table, keeps the figures, may judge them."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory

from benchmarks.gateway import gate, report, systems
from benchmarks.gateway.measure import (
    LoadClient,
    Measurement,
    NotReadyError,
    load_client,
    measure,
    wait_until_ready,
)
from benchmarks.gateway.processes import REPOSITORY
from benchmarks.gateway.scenarios import SCENARIOS, Scenario
from benchmarks.gateway.summary import summarize

WARM_UP_SHARE = 0.5
QUICK_ROUNDS = 2


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser("python -m benchmarks.gateway", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds after the warm-up [5]")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds only")
    parser.add_argument("--gate", action="store_true", help="exit with 1 if a limit is missed")
    parser.add_argument(
        "--json",
        type=Path,
        default=REPOSITORY / "benchmarks/results/gateway.json",
        help="where the figures are kept [benchmarks/results/gateway.json]",
    )
    parser.add_argument(
        "--systems",
        nargs="+",
        choices=systems.ALL,
        default=systems.NAMES,
        metavar="NAME",
        help=f"what is measured, of: {', '.join(systems.NAMES)} [all], and "
        f"{', '.join(systems.ALL[len(systems.NAMES) :]).replace('%', '%%')}",
    )
    names = [one.name for one in SCENARIOS]
    parser.add_argument(
        "--scenarios",
        nargs="+",
        choices=names,
        default=names,
        metavar="NAME",
        help=f"under which load, of: {', '.join(names)} [all]",
    )
    return parser.parse_args(arguments)


def run(
    alive: Sequence[systems.System], scenarios: Sequence[Scenario], client: LoadClient, rounds: int
) -> list[Measurement]:
    """Measure in interleaved rounds: every system is alive, one at a time is under load."""
    order = list(alive)
    shuffle = SystemRandom().shuffle
    for system in alive:
        for scenario in scenarios:
            client.run(scenario.job(system, WARM_UP_SHARE))
    measurements = []
    for number in range(1, rounds + 1):
        print(f"round {number} of {rounds}", file=sys.stderr)
        for scenario in scenarios:
            shuffle(order)  # nobody always runs after the same one
            measurements += [measure(system, scenario, client, number) for system in order]
    return measurements


def main() -> int:
    """Run the benchmark and return the exit code."""
    for name in (signal.SIGTERM, signal.SIGINT):  # also where a shell has set one to be ignored
        signal.signal(name, lambda number, _: sys.exit(128 + number))
    arguments = options()
    rounds = QUICK_ROUNDS if arguments.quick else arguments.rounds
    scenarios = [one for one in SCENARIOS if one.name in arguments.scenarios]
    where = report.circumstances(
        {"rounds": rounds, "systems": arguments.systems, "scenarios": arguments.scenarios}
    )
    try:
        with (
            TemporaryDirectory(prefix="heddle-bench-") as folder,
            load_client() as client,
            systems.running(arguments.systems, Path(folder)) as alive,
        ):
            print(f"starting {', '.join(arguments.systems)}", file=sys.stderr)
            wait_until_ready(alive, client)
            measurements = run(alive, scenarios, client, rounds)
    except NotReadyError as error:
        print(error, file=sys.stderr)
        return 2
    summaries = summarize(measurements)
    verdicts = gate.judge(summaries, arguments.systems, arguments.scenarios)
    print(report.tables(summaries))
    print("\n".join(map(str, verdicts)))
    report.keep(arguments.json, where, summaries, verdicts, measurements)
    print(f"\nkept in {arguments.json}")
    missed = arguments.gate and not all(verdict.kept for verdict in verdicts)
    return 1 if missed or any(one.errors for one in summaries) else 0


if __name__ == "__main__":
    sys.exit(main())
