"""`python -m benchmarks.turns`: measures turns with tools in shuffled rounds, prints a table."""

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory

from benchmarks.gateway.jobs import Job
from benchmarks.gateway.measure import (
    LoadClient,
    Measurement,
    load_client,
    measure,
    wait_until_ready,
)
from benchmarks.gateway.scenarios import Scenario
from benchmarks.gateway.systems import System
from benchmarks.turns.corpus import QUESTIONS, questions
from benchmarks.turns.systems import running

CLIENTS = (1, 16)
_TOKENS = 16
_MESSAGES = 1_000_000
"""Of all questions together, which the load client has in memory."""


@dataclass(frozen=True, slots=True)
class Turns(Scenario):
    """Different questions to one assistant."""

    different: int = QUESTIONS
    earlier: int = 0
    """Messages before each question."""

    def job(self, system: System, share: float = 1.0) -> Job:
        """Return this load for one assistant, or a `share` of its time."""
        return Job(
            port=system.port,
            path=system.path,
            model=system.model,
            clients=self.clients,
            tokens=self.tokens,
            seconds=self.seconds * share,
            requests=self.requests,
            questions=tuple(questions()[: min(self.different, _MESSAGES // (self.earlier + 1))]),
            earlier=self.earlier,
        )


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser("python -m benchmarks.turns", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds after the warm-up [5]")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement [2]")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS, help="[1 16]")
    parser.add_argument("--only", default="", help="assistants whose name contains this text")
    parser.add_argument(
        "--beside", type=Path, help="the Python of another version of Heddle, to compare with"
    )
    return parser.parse_args(arguments)


def run(
    alive: Sequence[System], load: LoadClient, options: argparse.Namespace
) -> list[Measurement]:
    """Ask every question once, then measure in rounds, in another order each time."""
    once = Turns("warm", "", clients=8, tokens=_TOKENS, seconds=120, requests=len(questions()))
    wait_until_ready(alive, load)
    for system in alive:
        load.run(once.job(system))
    order, measurements = list(alive), []
    for number in range(1, options.rounds + 1):
        print(f"round {number} of {options.rounds}", file=sys.stderr)
        for clients in options.clients:
            scenario = Turns(
                str(clients), "", clients=clients, tokens=_TOKENS, seconds=options.seconds
            )
            SystemRandom().shuffle(order)
            measurements += [measure(system, scenario, load, number) for system in order]
    return measurements


def table(measurements: Sequence[Measurement]) -> str:
    """Return the medians of all rounds as a Markdown table."""
    lines = [
        "| turn | clients | CPU ms | range | p50 ms | p95 ms | errors |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, clients in sorted({(each.system, int(each.scenario)) for each in measurements}):
        own = [it for it in measurements if (it.system, it.scenario) == (name, str(clients))]
        cpu = [each.cpu / 1000 for each in own]
        p50, p95 = (
            statistics.median(getattr(each.outcome.latency, share) for each in own)
            for share in ("p50", "p95")
        )
        errors = sum(each.outcome.errors for each in own)
        shown = (
            f"{statistics.median(cpu):.2f} | {min(cpu):.2f}-{max(cpu):.2f} | {p50:.1f} | {p95:.1f}"
        )
        lines.append(f"| {name} | {clients} | {shown} | {errors} |")
    return "\n".join(lines)


def main() -> int:
    """Run the benchmark and return the exit code."""
    arguments = options()
    pythons = [("Heddle", sys.executable)]
    if arguments.beside:
        pythons.append(("beside", str(arguments.beside)))
    with (
        TemporaryDirectory(prefix="heddle-turns-") as folder,
        load_client() as load,
        running(pythons, Path(folder)) as systems,
    ):
        alive = [each for each in systems if arguments.only in each.name]
        measurements = run(alive, load, arguments)
    print(table(measurements))
    return int(any(each.outcome.errors for each in measurements))


if __name__ == "__main__":
    sys.exit(main())
