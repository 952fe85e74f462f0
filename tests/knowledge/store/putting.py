"""Texts that tests put into a store, and what is there afterwards."""

from pathlib import Path

from heddle_knowledge.collection.types import Ingested, IngestProgress
from heddle_knowledge.store import KnowledgeStore


async def put(
    store: KnowledgeStore, name: str, text: str, collection: str = "docs", **labels: object
) -> Ingested:
    """Ingest a text and return the acknowledgement, which must come last."""
    events = [e async for e in store.documents.ingest(collection, name, text.encode(), **labels)]  # type: ignore[arg-type]  # labels are the method's own keywords
    assert all(isinstance(event, IngestProgress) for event in events[:-1])
    assert isinstance(events[-1], Ingested)
    return events[-1]


def long_text(word: str, paragraphs: int = 12) -> str:
    return "\n\n".join(f"{word} paragraph {n} " + "and so on " * 30 for n in range(paragraphs))


def tables_in(folder: Path) -> list[Path]:
    return list(folder.glob("chunks_*"))


async def contents(store: KnowledgeStore, query: str) -> list[tuple[str, str]]:
    found = await store.passages.search("docs", query, top_k=1_000, mode="text")
    return sorted((passage.document, passage.text.split()[0]) for passage in found)
