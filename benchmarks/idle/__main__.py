"""`make idle`: what the services need when they have nothing to do, before and after work.

Starts each service as its own process, as Compose does, and prints the seconds until it is ready
and its memory (proportional set size, its own processes included). A chat with each assistant and
a document then load what work needs: from here on, memory that stays is memory that work leaves
behind. The processes that this work needed end after some minutes, and the memory is measured.
Chats and documents follow, and the memory again after a while. Exits with 1 if a limit is
exceeded. Programs that use the same libraries at the same time make the figures smaller.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.idle.load import ASSISTANTS, apply
from benchmarks.idle.services import Installation, installation, settings_of

MAX_MEBIBYTES = 450
"""Of all services together, in a new installation."""
MAX_READY_SECONDS = 2.0
"""Of each service."""
MAX_GROWTH = 1.2
"""Memory of a service after work, of that after the first piece of work."""
_STEADY_SECONDS, _STEADY_SHARE = 5.0, 0.005
_MAX_SETTLING_SECONDS = 60.0
_MAX_REST_SECONDS = 300.0
_MINUTE = 60.0


@dataclass(slots=True)
class Report:
    """What was measured, by service."""

    ready: dict[str, float]
    """Seconds."""
    idle: dict[str, float]
    """Memory in MiB, in a new installation."""
    loaded: dict[str, float] = field(default_factory=dict)
    """Memory in MiB after one piece of each work, when the processes that it needed have ended."""
    after: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    """Seconds since the end of the work, and memory in MiB."""

    def exceeded(self) -> list[str]:
        """Return a sentence for each limit that is exceeded."""
        problems = [
            f"{name} is ready after {seconds:.2f} s, of {MAX_READY_SECONDS:g}"
            for name, seconds in self.ready.items()
            if seconds > MAX_READY_SECONDS
        ]
        total = sum(self.idle.values())
        if total > MAX_MEBIBYTES:
            problems.append(f"all services need {total:.0f} MiB, of {MAX_MEBIBYTES}")
        for name, before in self.loaded.items():
            size = self.after[-1][1][name]
            if size > MAX_GROWTH * before:
                problems.append(
                    f"{name} needs {size:.0f} MiB after work, {size / before:.2f} times what it "
                    f"needs after the first piece of work, of {MAX_GROWTH:g}"
                )
        return problems

    def table(self) -> str:
        """Return the figures as text."""
        columns = {"ready s": self.ready, "idle": self.idle}
        columns |= {"loaded": self.loaded} if self.loaded else {}
        columns |= {f"after {seconds:.0f} s": sizes for seconds, sizes in self.after}
        lines = [f"{'MiB':<20}" + "".join(f"{title:>14}" for title in columns)]
        for name in self.idle:
            figures = "".join(
                f"{values[name]:>14.{2 if title == 'ready s' else 1}f}"
                for title, values in columns.items()
            )
            lines.append(f"{name:<20}{figures}")
        sums = (
            f"{'' if title == 'ready s' else f'{sum(values.values()):.1f}':>14}"
            for title, values in columns.items()
        )
        return "\n".join([*lines, f"{'together':<20}{''.join(sums)}", ""])


def measure(chats: int, documents: int, minutes: Sequence[float]) -> Report:
    """Start the services, measure them, let them work, and measure them again.

    Args:
        chats: How many to send.
        documents: How many to ingest.
        minutes: After the end of the work, when to measure.
    """
    with (
        tempfile.TemporaryDirectory(prefix="heddle-idle-") as folder,
        settings_of(Path(folder), ASSISTANTS) as settings,
    ):
        with installation(settings, Path(folder) / "logs") as installed:
            report = Report(installed.ready(), _steady(installed))
            if not chats and not documents:
                return report
            asyncio.run(apply(installed.address, chats=len(ASSISTANTS), documents=1))
            # Not earlier: a process that uses the same libraries counts as half of their memory.
            installed.rest(_MAX_REST_SECONDS)
            report.loaded = installed.memory()
            asyncio.run(apply(installed.address, chats, documents))
            ended = time.monotonic()
            for when in minutes:
                time.sleep(max(0.0, ended + when * _MINUTE - time.monotonic()))
                report.after.append((time.monotonic() - ended, installed.memory()))
        return report


def _steady(installed: Installation) -> dict[str, float]:
    """Return the memory once it stays the same: services load more after they are ready."""
    until = time.monotonic() + _MAX_SETTLING_SECONDS
    sizes = installed.memory()
    while True:
        time.sleep(_STEADY_SECONDS)
        before, sizes = sizes, installed.memory()
        steady = all(
            abs(size - before[name]) <= _STEADY_SHARE * size for name, size in sizes.items()
        )
        if steady or time.monotonic() > until:
            return sizes


def options() -> argparse.Namespace:
    """Return what the command line selects."""
    parser = argparse.ArgumentParser("python -m benchmarks.idle", description=__doc__)
    parser.add_argument("--chats", type=int, default=1_000, help="[1000]")
    parser.add_argument("--documents", type=int, default=1_000, help="[1000]")
    parser.add_argument(
        "--minutes", type=float, nargs="+", default=[1, 2, 5, 10], help="after work [1 2 5 10]"
    )
    return parser.parse_args()


def main() -> int:
    """Print the figures, and return the exit code."""
    chosen = options()
    report = measure(chosen.chats, chosen.documents, chosen.minutes)
    exceeded = report.exceeded()
    sys.stdout.write("".join([report.table(), *(f"EXCEEDED: {each}\n" for each in exceeded)]))
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
