"""What the list of collections keeps."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.embedders.embedding import MINILM
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.errors import CollectionExistsError
from heddle_knowledge.store import open_store

from benchmarks.retrieval.hashing_embedder import HashingEmbedder


async def test_all_that_is_said_of_a_collection_outlives_the_process(tmp_path: Path) -> None:
    others = [LocalEmbedder()]
    async with open_store(tmp_path, HashingEmbedder(), others=others) as store:
        made = await store.collections.create(
            "looms",
            organization="uni",
            owner="ana@uni.example",
            sharing="organization",
            chunking=Chunking(900, 100, 4_000),
            page_handling="search",
            embedding_model=MINILM,
            graph=True,
            metadata=MappingProxyType({"course": "Weaving Ⅱ"}),
        )
        changed = replace(made, title="Looms", sharing="private")
        await store.collections.change(changed)
    async with open_store(tmp_path, HashingEmbedder()) as store:
        assert await store.collections.get(made.id) == changed


async def test_a_name_is_taken_in_its_organisation_alone(tmp_path: Path) -> None:
    async with open_store(tmp_path, HashingEmbedder()) as store:
        ours = await store.collections.create("looms")
        for slug in ("uni", "college"):
            await store.collections.create("looms", organization=slug)
        with pytest.raises(CollectionExistsError):
            await store.collections.create("looms", organization="uni")
        assert (await store.collections.get("looms")).id == ours.id
