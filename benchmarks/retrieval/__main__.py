"""`python -m benchmarks.retrieval`: measures how well labelled questions are answered."""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.gateway.processes import REPOSITORY
from benchmarks.retrieval import chroma, heddle, labelled, report
from benchmarks.retrieval.labelled import Labelled
from benchmarks.retrieval.measures import ndcg

_SETS: dict[str, Callable[[Path], Labelled]] = {
    "semanlink": labelled.semanlink,
    "faq-en": lambda folder: labelled.construction_faq(folder, "en"),
    "faq-sv-120": lambda folder: labelled.construction_faq(folder, "sv", subset=True),
    "faq-sv": lambda folder: labelled.construction_faq(folder, "sv"),
    "pages": labelled.manuals,
}


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser("python -m benchmarks.retrieval", description=__doc__)
    parser.add_argument("--set", choices=_SETS, action="append", help="one or more [all]")
    parser.add_argument("--no-chroma", action="store_true", help="leave out ChromaDB")
    parser.add_argument("--gate", action="store_true", help="exit with 1 if a limit is missed")
    parser.add_argument(
        "--data",
        type=Path,
        default=REPOSITORY / ".heddle/retrieval",
        help="where packages are kept",
    )
    parser.add_argument(
        "--json", type=Path, default=REPOSITORY / "benchmarks/results/retrieval.json"
    )
    return parser.parse_args(arguments)


async def measure(asked: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return nDCG@10 by set and by way."""
    figures: dict[str, dict[str, float]] = {}
    with TemporaryDirectory(prefix="heddle-bench-") as folder:
        async with heddle.serving(Path(folder)) as stub:
            for name in asked.set or _SETS:
                one = _SETS[name](asked.data)
                print(f"{name}: {len(one.documents)} documents", file=sys.stderr)
                await heddle.fill(stub, one)
                answers = {way: await heddle.found(stub, one, way) for way in heddle.WAYS}
                if not asked.no_chroma:
                    answers["ChromaDB"] = await asyncio.to_thread(_chroma, one)
                figures[name] = {
                    way: _mean(one, found) for way, found in answers.items() if found is not None
                }
    return figures


def main() -> int:
    """Run the benchmark and return the exit code."""
    for each in (signal.SIGTERM, signal.SIGINT):  # also where a shell has set one to be ignored
        signal.signal(each, lambda number, _: sys.exit(128 + number))
    asked = options()
    figures = asyncio.run(measure(asked))
    limits = {name: _SETS[name](asked.data).limit for name in figures}
    print(report.table(figures))
    missed = report.missed(figures, limits)
    print("\n".join(missed) or "All limits are kept.")
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps(figures, indent=1))
    return 1 if asked.gate and missed else 0


def _chroma(one: Labelled) -> list[list[str]]:
    with TemporaryDirectory(prefix="heddle-bench-") as folder:
        return chroma.found(one, Path(folder))


def _mean(one: Labelled, found: list[list[str]]) -> float:
    pairs = zip(found, one.questions, strict=True)
    return sum(ndcg(labels, right) for labels, (_, right) in pairs) / len(one.questions)


if __name__ == "__main__":
    sys.exit(main())
