"""Reads what `ingest_until_killed.py` writes, and checks it.

As a script, `reading.py PLACE`, it reads again and again until its input ends, and prints the sum
of the versions after each time: a process of its own that must never fail.
"""

import asyncio
import sys
from collections import defaultdict

from heddle_knowledge.store import KnowledgeStore
from knowledge.store.places import Place

from benchmarks.retrieval.hashing_embedder import HashingEmbedder


async def versions_in(store: KnowledgeStore) -> dict[str, int]:
    """Return the version of every document, after checking that each is of one piece."""
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for passage in await store.passages.search("docs", "passage words", top_k=1_000, mode="text"):
        version = int(passage.text.split()[0].removeprefix("v"))
        assert passage.ordinal not in found[passage.document]
        found[passage.document][passage.ordinal] = version
    versions: dict[str, int] = {}
    for name, passages in found.items():
        (version,) = set(passages.values())
        assert sorted(passages) == list(range(1 + version % 9))
        versions[name] = version
    return versions


async def main(argument: str) -> None:
    """Read until told to stop."""
    stopped = asyncio.ensure_future(asyncio.to_thread(sys.stdin.read))
    async with Place.read(argument).store(HashingEmbedder()) as store:
        while not stopped.done():
            versions = await versions_in(store)
            listed = {document.name for document in await store.documents.listed("docs")}
            assert versions.keys() <= listed
            print(sum(versions.values()), flush=True)  # noqa: T201 - the parent reads it
            await asyncio.sleep(0.005)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
