"""Ingests three manuals and looks for each title of their outlines: `python -m benchmarks.pages`.

The page that the outline names is the only right one. Pages of contents are cut away, for they hold
every title; titles that a manual has twice are left out. Searches within the right manual and
within another one tell how well the best score separates questions that a manual answers.
"""

import argparse
import asyncio
import io
import math
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

import pypdfium2  # type: ignore[import-untyped]  # ships no annotations
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_knowledge.app import app
from heddle_knowledge.settings import NOWHERE, KnowledgeSettings
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import running

from benchmarks.pages.manuals import fetch

_MANUALS = ("gutenprint-doc", "debmake-doc", "xfig-doc")
_LEADER = re.compile(r"(?:\. ?){4,}\s*[0-9ivxlc]+\s*$", re.MULTILINE)
_FOUND = 10
_DAY = 86_400.0
CONTRACT = pb.DESCRIPTOR.services_by_name["KnowledgeService"]


@dataclass(frozen=True, slots=True)
class Manual:
    """A manual without its pages of contents."""

    name: str
    data: bytes
    titles: Sequence[tuple[str, int]]
    """What its outline says and on which page that is, from 1."""


def manual(name: str, path: Path) -> Manual:
    """Read a manual and cut its pages of contents away."""
    with pypdfium2.PdfDocument(path) as whole:
        pages = [number for number in range(len(whole)) if not _is_contents(whole[number])]
        new_numbers = {number: at for at, number in enumerate(pages, 1)}
        outline = [(each.get_title().strip(), each.get_dest()) for each in whole.get_toc()]
        titles = [(title, new_numbers.get(to.get_index())) for title, to in outline if to]
        with pypdfium2.PdfDocument.new() as cut:
            cut.import_pages(whole, pages)
            written = io.BytesIO()
            cut.save(written)
    return Manual(name, written.getvalue(), [(title, at) for title, at in titles if at])


def _is_contents(page: pypdfium2.PdfPage) -> bool:
    text = page.get_textpage().get_text_bounded()
    lines = [line for line in text.splitlines() if line.strip()]
    return len(_LEADER.findall(text.replace("\r", ""))) > 0.3 * len(lines)


@asynccontextmanager
async def service(folder: Path) -> AsyncGenerator["pb_grpc.KnowledgeServiceAsyncStub"]:
    """Run the knowledge service on a folder and yield a stub of it."""
    settings = KnowledgeSettings(
        listen="127.0.0.1:0", data_dir=folder, assistants_address=NOWHERE, drain_wait=0
    )
    async with (
        running(app(settings), settings) as started,
        channel(started.address, CONTRACT) as connection,
    ):
        yield pb_grpc.KnowledgeServiceStub(connection)


async def ingest(stub: "pb_grpc.KnowledgeServiceAsyncStub", manuals: Sequence[Manual]) -> None:
    """Put each manual into a collection of its own whose pages are searched."""
    listed = await stub.ListCollections(pb.ListCollectionsRequest(), **new_call_options(60))
    known = {each.name for each in listed.collections}
    for each in manuals:
        if each.name not in known:
            collection = pb.Collection(name=each.name, page_handling=pb.PAGE_HANDLING_SEARCH)
            await stub.CreateCollection(
                pb.CreateCollectionRequest(collection=collection), **new_call_options(60)
            )
        request = pb.IngestDocumentRequest(
            collection=each.name, name=f"{each.name}.pdf", data=each.data
        )
        started = time.monotonic()
        async for event in stub.IngestDocument(request, **new_call_options(_DAY)):
            if event.HasField("ingested"):
                pages = event.ingested.document.page_count
                print(f"{each.name}: {pages} pages in {time.monotonic() - started:.0f} s")


async def measure(
    stub: "pb_grpc.KnowledgeServiceAsyncStub", manuals: Sequence[Manual]
) -> list[float]:
    """Return the nDCG@10 of every title."""
    often = Counter(title for each in manuals for title, _ in each.titles)
    names = [each.name for each in manuals]
    gains = []
    for each in manuals:
        for title, page in each.titles:
            if often[title] > 1:
                continue
            request = pb.SearchPagesRequest(collections=names, query=title, top_k=_FOUND)
            results = (await stub.SearchPages(request, **new_call_options(60))).pages
            places = [(it.document, it.page) for it in results]
            right = (f"{each.name}.pdf", page)
            gains.append(1 / math.log2(places.index(right) + 2) if right in places else 0.0)
    return gains


async def best_scores(
    stub: "pb_grpc.KnowledgeServiceAsyncStub", manuals: Sequence[Manual]
) -> tuple[list[float], list[float]]:
    """Return the best score of every title in its own manual, and in the next one."""
    own: list[float] = []
    other: list[float] = []
    for each, following in zip(manuals, [*manuals[1:], manuals[0]], strict=True):
        for title, _ in each.titles:
            for name, scores in ((each.name, own), (following.name, other)):
                request = pb.SearchPagesRequest(collections=[name], query=title, top_k=1)
                pages = (await stub.SearchPages(request, **new_call_options(60))).pages
                scores.append(pages[0].score if pages else 0.0)
    return own, other


def auc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Return how often a number of one list is above one of the other; ties count half."""
    pairs = [(one > two) + 0.5 * (one == two) for one in higher for two in lower]
    return sum(pairs) / len(pairs)


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(".heddle/benchmarks/pages"))
    folder = parser.parse_args().folder
    manuals = [manual(name, fetch(name, folder / "manuals")) for name in _MANUALS]
    async with service(folder / "store") as stub:
        await ingest(stub, manuals)
        started = time.monotonic()
        gains = await measure(stub, manuals)
        each = (time.monotonic() - started) / len(gains) * 1000
        own, other = await best_scores(stub, manuals)
    first = sum(gain == 1.0 for gain in gains) / len(gains)
    print(f"{len(gains)} titles: nDCG@10 {sum(gains) / len(gains):.3f}, first {first:.3f}")
    print(f"{each:.0f} ms a search")
    low, high = quantiles(own, n=10)[0], quantiles(other, n=10)[-1]
    print(
        f"best score: AUC {auc(own, other):.3f}; in the own manual 90 % have {low:.2f} or more, "
        f"in another one 90 % have {high:.2f} or less"
    )


if __name__ == "__main__":
    asyncio.run(main())
