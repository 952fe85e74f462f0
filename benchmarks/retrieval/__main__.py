"""`python -m benchmarks.retrieval`: measures how well labelled questions are answered."""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.gateway.processes import REPOSITORY
from benchmarks.retrieval import chroma, heddle, report
from benchmarks.retrieval.labelled import Labelled
from benchmarks.retrieval.measures import ndcg
from benchmarks.retrieval.sets import SETS

if TYPE_CHECKING:
    from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc

CHROMA = "ChromaDB"
WAYS = (*heddle.WAYS, CHROMA)


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser("python -m benchmarks.retrieval", description=__doc__)
    parser.add_argument("--set", choices=SETS, action="append", help="one or more [all]")
    parser.add_argument("--way", choices=WAYS, action="append", help="one or more [all]")
    parser.add_argument("--gate", action="store_true", help="exit with 1 if a limit is missed")
    parser.add_argument(
        "--data",
        type=Path,
        default=REPOSITORY / ".heddle/retrieval",
        help="where packages are kept",
    )
    parser.add_argument(
        "--knowledge",
        type=Path,
        default=REPOSITORY / ".heddle/benchmarks/retrieval",
        help="where collections are kept, to be embedded once",
    )
    parser.add_argument(
        "--json", type=Path, default=REPOSITORY / "benchmarks/results/retrieval.json"
    )
    return parser.parse_args(arguments)


async def measure(asked: argparse.Namespace) -> report.ByQuestion:
    """Return nDCG@10 of each question, by set and by way."""
    figures: dict[str, dict[str, list[float]]] = {}
    async with heddle.serving(asked.knowledge) as stub:
        for name in asked.set or SETS:
            one = SETS[name](asked.data)
            print(f"{name}: {len(one.documents)} documents", file=sys.stderr)
            if asked.way != [CHROMA]:
                await heddle.fill(stub, one)
            figures[name] = {}
            for way in asked.way or WAYS:
                figures[name][way] = _each(one, await _found(stub, one, way, asked.knowledge))
            print(report.means(figures)[name], file=sys.stderr)
    return figures


def main() -> int:
    """Run the benchmark and return the exit code."""
    for each in (signal.SIGTERM, signal.SIGINT):  # also where a shell has set one to be ignored
        signal.signal(each, lambda number, _: sys.exit(128 + number))
    asked = options()
    by_question = asyncio.run(measure(asked))
    figures = report.means(by_question)
    limits = {name: SETS[name](asked.data).limit for name in figures}
    print(report.table(figures))
    print(report.choice(by_question, heddle.WEIGHTS))
    missed = report.missed(figures, limits)
    print("\n".join(missed) or "No limit that was asked for is missed.")
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps(figures, indent=1))
    return 1 if asked.gate and missed else 0


async def _found(
    stub: "pb_grpc.KnowledgeServiceAsyncStub", one: Labelled, way: str, kept: Path
) -> list[list[str]]:
    if way != CHROMA:
        return await heddle.found(stub, one, way)
    with TemporaryDirectory(prefix="heddle-bench-") as folder:
        return await asyncio.to_thread(chroma.found, one, Path(folder), kept / "vectors")


def _each(one: Labelled, found: list[list[str]]) -> list[float]:
    pairs = zip(found, one.questions, strict=True)
    return [ndcg(labels, right) for labels, (_, right) in pairs]


if __name__ == "__main__":
    sys.exit(main())
