"""Tools search what the owner of their assistant may read at that moment."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from heddle_knowledge.store import KnowledgeStore, open_store
from heddle_runtime.errors import ToolFailedError
from knowledge.serving import knowledge_stub
from knowledge.shared_parser import shared_parser
from tools_service.serving import Client, discovering, said, serving, text_of

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

ANA = {"owner": "ana@uni.example", "organization": "uni"}
BEN = {"owner": "ben@uni.example", "organization": "uni"}
EVE = {"owner": "eve@college.example", "organization": "college"}
TWIN = {"owner": "ana@uni.example", "organization": "college"}
NOBODY = {"organization": "uni"}
OPERATOR: dict[str, str] = {}


class Desk:
    """A store, and a tool service that reads it."""

    def __init__(self, store: KnowledgeStore, client: Client) -> None:
        self.store = store
        self._client = client

    async def keep(self, name: str, text: str, **fields: Any) -> str:
        """Make a collection with one document and return its identifier."""
        made = await self.store.collections.create(name, **fields)
        [_ async for _ in self.store.documents.ingest(made.id, "a.md", text.encode())]
        return made.public_id

    async def share(self, identifier: str, sharing: str) -> None:
        record = await self.store.collections.get(identifier.removeprefix("vs_"))
        await self.store.collections.change(replace(record, sharing=sharing))  # type: ignore[arg-type] # a test's own words

    async def ask(self, collection: str, of: dict[str, str]) -> str:
        config = {"collections": [collection]}
        _, result = await self._client.run("simple_rag", config, said("threads", **of))
        return text_of(result)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with running(tmp_path) as opened:
        yield opened


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Desk]:
    async with (
        open_store(folder, HashingEmbedder(), parser=shared_parser()) as store,
        knowledge_stub(store) as knowledge,
        serving(discovering(None), knowledge=knowledge) as client,
    ):
        yield Desk(store, client)


async def refusal(desk: Desk, collection: str, of: dict[str, str]) -> str:
    with pytest.raises(ToolFailedError) as caught:
        await desk.ask(collection, of)
    return caught.value.message


async def test_what_is_shared_no_more_is_refused_at_the_next_run(desk: Desk) -> None:
    made = await desk.keep("looms", "Threads part.", **ANA, sharing="organization")
    assert await desk.ask("looms", BEN) == await desk.ask(made, BEN) == "Threads part."
    await desk.share(made, "private")
    missing = await refusal(desk, "nothing", BEN)
    assert await refusal(desk, "looms", BEN) == missing.replace("nothing", "looms")
    assert await refusal(desk, made, BEN) == missing.replace(" 'nothing'", "")
    assert await desk.ask("looms", ANA) == "Threads part."


@pytest.mark.parametrize("of", [BEN, EVE, TWIN, NOBODY, OPERATOR])
async def test_what_is_private_serves_the_owners_assistants_alone(
    desk: Desk, of: dict[str, str]
) -> None:
    made = await desk.keep("looms", "Threads part.", **ANA)
    for reference in ("looms", made):
        assert "there is no collection" in await refusal(desk, reference, of)
        assert await desk.ask(reference, ANA) == "Threads part."


@pytest.mark.parametrize("of", [ANA, NOBODY])
async def test_the_operators_collections_are_the_operators(desk: Desk, of: dict[str, str]) -> None:
    made = await desk.keep("looms", "Threads part.")
    assert await desk.ask("looms", OPERATOR) == "Threads part."
    assert "there is no collection" in await refusal(desk, made, of)
    await desk.share(made, "everyone")
    assert await desk.ask("looms", of) == "Threads part."


async def test_no_tenants_name_stands_before_anothers(desk: Desk) -> None:
    await desk.keep("looms", "Threads of the operator.", sharing="everyone")
    await desk.keep("looms", "Threads of Ana.", **ANA)
    await desk.keep("looms", "Threads of Eve.", **EVE, sharing="organization")
    for of, whose in (
        (ANA, "Ana"),
        (BEN, "the operator"),
        (TWIN, "Eve"),
        (OPERATOR, "the operator"),
    ):
        assert await desk.ask("looms", of) == f"Threads of {whose}."
