"""`python -m benchmarks.retrieval.declining`: which questions a search finds nothing for.

Six documents of others and the documents of the examples, each a collection. Their own questions
are 210 that they answer and 100 of the same subjects that they do not; 100 questions of another
subject are about construction.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from heddle.knowledge.v1 import knowledge_pb2 as pb

from benchmarks.first_answer.__main__ import questions
from benchmarks.first_answer.documents import fetched
from benchmarks.gateway.processes import REPOSITORY
from benchmarks.retrieval import heddle
from benchmarks.retrieval.labelled import E5, MINILM, construction_faq

if TYPE_CHECKING:
    from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc

KINDS = ("answered", "same subject", "other subject")
_EXAMPLES = REPOSITORY / "examples/documents"
_OF_EXAMPLES = ("museum.md", "help-desk", "distillation.pdf", "statistics-slides.pdf", "minutes")
_QUESTIONS = Path(__file__).with_name("declining.tsv")
_MAX_LOST = 0.05
_OTHERS = 100
Questions = Sequence[tuple[str, str, str]]
"""Collections, questions and their kinds."""


def all_questions(data: Path, names: Sequence[str]) -> Questions:
    """Return all questions."""
    rows = [line.split("\t") for line in _QUESTIONS.read_text().splitlines()]
    own = [(name, text, KINDS[0 if known == "yes" else 1]) for name, text, known in rows]
    first = [(each.document, each.text, KINDS[0]) for each in questions()]
    others = [question for question, _ in construction_faq(data, "en").questions[::5]][:_OTHERS]
    return [
        *first,
        *own,
        *((names[at % len(names)], text, KINDS[2]) for at, text in enumerate(others)),
    ]


async def measure(folder: Path, data: Path, documents: Path, model: str) -> None:
    """Print what is declined by a model's threshold, and by others."""
    paths = {path.name: path for path in fetched(documents)}
    paths |= {name: _EXAMPLES / name for name in _OF_EXAMPLES}
    every = all_questions(data, list(paths))
    declined: Counter[str] = Counter()
    scores: dict[str, list[float]] = {kind: [] for kind in KINDS}
    async with heddle.serving(folder) as stub:
        for name, path in paths.items():
            files = sorted(path.iterdir()) if path.is_dir() else [path]
            texts = {each.name: (each.read_bytes(), "") for each in files}
            await heddle.store(stub, _collection(name, model), model, texts)
        for name, text, kind in every:
            passages = await _search(stub, _collection(name, model), text, only_relevant=False)
            scores[kind].append(max((each.similarity for each in passages), default=0.0))
            relevant = await _search(stub, _collection(name, model), text, only_relevant=True)
            declined[kind] += not relevant
    print(f"\n{model}")
    for kind, similarities in scores.items():
        share = declined[kind] / len(similarities)
        print(f"  {kind:14}{len(similarities):5} questions, declined {share:7.1%}")
    known, same, other = (np.array(scores[kind]) for kind in KINDS)
    for name, values in ((KINDS[1], same), (KINDS[2], other)):
        print(f"  AUC of {name}: {(known[:, None] > values[None, :]).mean():.3f}")
    least = float(np.quantile(known, _MAX_LOST))
    print(f"  5 % are lost at {least:.3f}, which declines {(same < least).mean():.1%} of the same")
    print(f"  subject and {(other < least).mean():.1%} of another")


def _collection(name: str, model: str) -> str:
    return f"declining-{name}-{model}".replace(".", "-")


async def _search(
    stub: "pb_grpc.KnowledgeServiceAsyncStub", collection: str, text: str, *, only_relevant: bool
) -> Sequence[pb.Passage]:
    request = pb.SearchCollectionsRequest(
        collections=[collection], query=text, top_k=3, only_relevant=only_relevant
    )
    (result,) = (await stub.SearchCollections(request, timeout=heddle.PATIENCE)).results
    return result.passages


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m benchmarks.retrieval.declining")
    parser.add_argument("--model", choices=[E5, MINILM], action="append")
    chosen = parser.parse_args()
    state = REPOSITORY / ".heddle"
    for each in chosen.model or [MINILM, E5]:
        work = measure(
            state / "benchmarks/retrieval", state / "retrieval", state / "first-answer", each
        )
        asyncio.run(work)
