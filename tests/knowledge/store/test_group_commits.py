"""Documents that are ready at the same time share a commit, and each is still its own."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from heddle_knowledge.collection.store import open_collection_store
from heddle_knowledge.collection.types import Collection, Ingested, IngestProgress
from heddle_knowledge.embedders.embedding import Kind, Vectors
from heddle_knowledge.engines.address import open_engine
from heddle_knowledge.errors import CollectionNotFoundError, EmbeddingError
from heddle_knowledge.store import KnowledgeStore, open_store
from knowledge.store.places import Place

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

# An object store has no locks by which a test could hold commits back.
LOCKING = pytest.mark.parametrize("place", ["folder", "postgresql"], indirect=True)
EMBEDDING = IngestProgress("embedding", 0, 1)
SAVING = IngestProgress("saving", 0, 1)


class Counting(HashingEmbedder):
    """Notes what it is asked for, each time only once it may; refuses what is poisonous."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()
        self.asked: list[list[str]] = []

    async def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        self.asked.append(list(texts))
        await self.open.wait()
        if "poison" in texts:
            raise EmbeddingError("poison")
        return await super().embed(texts, kind)


class Ingestions:
    """Ingestions in the background, each of a text."""

    def __init__(self, store: KnowledgeStore, awaited: IngestProgress) -> None:
        self._store = store
        self._awaited = awaited
        self._ready = 0
        self.tasks: dict[str, asyncio.Task[Ingested]] = {}

    async def add(self, *texts: tuple[str, str]) -> None:
        """Begin documents, and wait until each has come to the awaited step."""
        ready = self._ready + len(texts)
        for name, text in texts:
            self.tasks[text] = asyncio.create_task(self._ingest(name, text))
        async with asyncio.timeout(60):
            while self._ready < ready:
                await asyncio.sleep(0.005)

    async def _ingest(self, name: str, text: str) -> Ingested:
        async for event in self._store.documents.ingest("docs", name, text.encode()):
            if event == self._awaited:
                self._ready += 1
            elif isinstance(event, Ingested):
                return event
        raise AssertionError("no acknowledgement")


@pytest.fixture
async def store(place: Place) -> AsyncIterator[KnowledgeStore]:
    async with place.store(HashingEmbedder(), quiet_seconds=1e6) as opened:
        await opened.collections.create("docs")
        yield opened


@asynccontextmanager
async def held_back(place: Place, store: KnowledgeStore) -> AsyncGenerator[None]:
    """Let nobody commit to the collection within the block."""
    collection = await store.collections.get("docs")
    async with (
        open_engine(place.address, place.options) as engine,
        engine.locks.committing(f"chunks_{collection.id}"),
    ):
        yield


async def version(place: Place, collection: Collection) -> int:
    async with (
        open_engine(place.address, place.options) as engine,
        open_collection_store(engine) as all_,
    ):
        return await (await all_.open(collection)).table.version()


async def kept(store: KnowledgeStore) -> dict[str, str]:
    found = await store.passages.search("docs", "text", top_k=1_000, mode="text")
    return {passage.document: passage.text for passage in found}


@LOCKING
async def test_documents_that_are_ready_together_share_one_commit(
    place: Place, store: KnowledgeStore
) -> None:
    collection = await store.collections.get("docs")
    [_ async for _ in store.documents.ingest("docs", "d3", b"old text")]
    before = await version(place, collection)
    saving = Ingestions(store, SAVING)
    async with held_back(place, store):
        await saving.add(*((f"d{n}", f"text {n}") for n in range(20)))
    told = await asyncio.gather(*saving.tasks.values())
    assert await version(place, collection) == before + 1
    assert [each.document for each in told if each.replaced] == ["d3"]
    assert await kept(store) == {f"d{n}": f"text {n}" for n in range(20)}


@LOCKING
async def test_of_two_versions_that_are_ready_together_the_later_one_stays(
    place: Place, store: KnowledgeStore
) -> None:
    saving = Ingestions(store, SAVING)
    async with held_back(place, store):
        await saving.add(("a", "text of a"))
        await saving.add(("b", "text of b"))
        await saving.add(("a", "text of a, again"))
        await saving.add(("c", "text of c"))
    told = {text: await task for text, task in saving.tasks.items()}
    assert await kept(store) == {"a": "text of a, again", "b": "text of b", "c": "text of c"}
    assert [text for text, each in told.items() if each.replaced] == ["text of a, again"]
    times = {d.name: d.ingested_at for d in await store.documents.listed("docs")}
    assert times["b"] < times["a"]


@LOCKING
async def test_who_gives_up_while_waiting_leaves_the_others(
    place: Place, store: KnowledgeStore
) -> None:
    saving = Ingestions(store, SAVING)
    async with held_back(place, store):
        await saving.add(("a", "text of a"), ("b", "text of b"))
        saving.tasks["text of a"].cancel()
        await asyncio.wait([saving.tasks["text of a"]])
    await saving.tasks["text of b"]
    assert await kept(store) == {"b": "text of b"}


@LOCKING
async def test_a_collection_deleted_meanwhile_is_told_to_each(
    place: Place, store: KnowledgeStore
) -> None:
    saving = Ingestions(store, SAVING)
    async with held_back(place, store):
        await saving.add(("a", "text of a"), ("b", "text of b"))
        collection = await store.collections.get("docs")
        async with (
            open_engine(place.address, place.options) as engine,
            open_collection_store(engine) as all_,
        ):
            await all_.registry.remove(collection)
    for task in saving.tasks.values():
        with pytest.raises(CollectionNotFoundError, match="'docs'"):
            await task


async def unindexed(place: Place, collection: Collection) -> int:
    """Count the rows that the index of words does not hold."""
    options = dict(place.options)
    import lancedb  # noqa: PLC0415 - takes a second to load

    database = await lancedb.connect_async(place.address, storage_options=options)
    table = await database.open_table(f"chunks_{collection.id}")
    (index,) = [it for it in await table.list_indices() if it.columns == ["indexed"]]
    told = await table.index_stats(index.name)
    assert told is not None
    return int(told.num_unindexed_rows)


@pytest.mark.alone  # upkeep waits for a machine that has nothing else to do
async def test_many_rows_begin_upkeep_without_waiting_for_quiet(
    place: Place, store: KnowledgeStore
) -> None:
    """Else a search by words reads them one by one for as long as a bulk load goes on."""
    if place.address.startswith("postgresql"):
        pytest.skip("a commit brings its index of words up to date")
    text = "\n\n".join(f"Passage {n} stands here. " + "It goes on. " * 40 for n in range(4_100))
    [_ async for _ in store.documents.ingest("docs", "a.txt", text.encode())]
    async with asyncio.timeout(100):
        while await unindexed(place, await store.collections.get("docs")):
            await asyncio.sleep(0.2)


async def test_passages_of_several_documents_are_embedded_together(tmp_path: Path) -> None:
    embedder = Counting()
    async with open_store(tmp_path, embedder, quiet_seconds=1e6) as store:
        await store.collections.create("docs")
        embedding = Ingestions(store, EMBEDDING)
        await embedding.add(*((f"d{n}", "poison" if n == 7 else f"text {n}") for n in range(40)))
        embedder.open.set()
        told = await asyncio.gather(*embedding.tasks.values(), return_exceptions=True)
        assert [n for n, each in enumerate(told) if isinstance(each, EmbeddingError)] == [7]
        assert len(await kept(store)) == 39
    assert max(map(len, embedder.asked)) > 1
    assert max(map(len, embedder.asked)) <= 32
