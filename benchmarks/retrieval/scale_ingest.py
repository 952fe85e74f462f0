"""`python -m benchmarks.retrieval.scale_ingest PLACE FOLDER SECONDS`: ingests beside searches.

Documents go the whole way: read, cut, embedded, committed. Says how many passages it was.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

from heddle_tools_service.knowledge.records import Ingested
from heddle_tools_service.knowledge.store import open_store

from benchmarks.retrieval.scale_fill import COLLECTION
from benchmarks.retrieval.scale_texts import read
from benchmarks.retrieval.scale_vectors import TokenMeans

_TEXTS = 40_000
_PER_DOCUMENT = 40


async def ingest(place: str, folder: Path, seconds: float) -> None:
    """Ingest documents of some forty passages, one after the other, for so long."""
    os.nice(10)  # searches go first
    texts, _ = read(folder, _TEXTS, 1)
    passages, number = 0, 0
    async with open_store(place, TokenMeans(folder)) as store:
        print("ready", flush=True)
        began, cpu = time.monotonic(), time.process_time()
        while time.monotonic() - began < seconds:
            at = number * _PER_DOCUMENT % _TEXTS
            body = "\n\n".join(each.text for each in texts[at : at + _PER_DOCUMENT])
            async for event in store.documents.ingest(COLLECTION, f"new-{number}", body.encode()):
                if isinstance(event, Ingested):
                    passages += event.chunks
            number += 1
        spent = time.monotonic() - began
        print(passages, spent, time.process_time() - cpu, flush=True)


if __name__ == "__main__":
    asyncio.run(ingest(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])))
