"""A store with a graph, drawn once by the model that comes with it."""

from pathlib import Path

from heddle_knowledge.pages.page_place import open_pages
from heddle_knowledge.store import KnowledgeStore, open_store
from knowledge.shared_parser import shared_parser

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

DOCUMENTS = {
    "ed-wood.md": "# Ed Wood\n\nEd Wood is a 1994 American film about the director Ed Wood. It was "
    "directed by Tim Burton.",
    "derrickson.md": "# Scott Derrickson\n\nScott Derrickson is an American director who lives in "
    "Los Angeles. He made Doctor Strange for Marvel Studios.",
    "burton.md": "# Studios\n\nTim Burton's films were made by Warner Bros in Los Angeles. Marvel "
    "Studios and Warner Bros compete.",
    "vaven.md": "# Väven\n\nVäven skapas genom att inslagstråden förs genom skälet mellan "
    "varptrådarna, som Kerstin Andersson visade i Göteborg. Skeden slår in inslaget i väven och "
    "bestämmer hur tät den blir. Varpen spänns upp mellan bommarna, och solven lyfter trådarna.",
}


async def put(store: KnowledgeStore, collection: str, name: str, text: str) -> list[str]:
    """Ingest a document and return the stages of it."""
    events = [event async for event in store.documents.ingest(collection, name, text.encode())]
    return [getattr(event, "stage", "ingested") for event in events]


async def build(folder: Path | str) -> None:
    """Make a store with the collection `films`, which has a graph, and `plain`, which has none."""
    async with (
        open_pages(str(folder), Path(folder) / "pages") as pages,
        open_store(folder, HashingEmbedder(), pages=pages, parser=shared_parser()) as store,
    ):
        await store.collections.create("films", graph=True)
        await store.collections.create("plain")
        await store.collections.create(
            "ours", graph=True, organization="guild", owner="ana@guild.example"
        )
        ours = next(it for it in (await store.collections.all()).values() if it.name == "ours")
        await put(store, ours.id, "secret.md", "Greta Garbo met Tim Burton in Stockholm.")
        for name, text in DOCUMENTS.items():
            await put(store, "films", name, text)
        await put(store, "plain", "x.md", "Nothing of Paris.")
