"""Tools see the pages of what the owner of their assistant may read, and no others."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from heddle_knowledge.collection.names import document_id
from heddle_knowledge.store import open_store
from heddle_runtime.identity.call_metadata import CALLER, caller
from heddle_runtime.identity.grants import Grant, GrantSigner
from heddle_runtime.settings.local_secret import OF_THIS_PROCESS
from heddle_tools_service.providers.knowledge.client import KnowledgeClient
from heddle_tools_service.providers.knowledge.pages import NO_PAGE, PageSearch, picture_uri
from heddle_tools_service.sdk import ToolError
from knowledge.pages.pdfs import pdf
from knowledge.serving import knowledge_stub
from knowledge.shared_parser import shared_parser
from msgspec.structs import replace

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

if TYPE_CHECKING:  # a class of the stubs alone
    from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceAsyncStub

ANA: dict[str, Any] = {"owner": "ana@uni.example", "organization": "uni"}
EVE: dict[str, Any] = {"owner": "eve@college.example", "organization": "college"}


@dataclass(frozen=True)
class Shelf:
    """A store with a collection of Ana's, and the address of a picture in it."""

    knowledge: "KnowledgeServiceAsyncStub"
    uri: str

    def pages_of(self, owner: dict[str, Any]) -> PageSearch:
        signer = GrantSigner(OF_THIS_PROCESS.get_secret_value())
        grant = signer.sign(Grant(**owner), 60)
        CALLER.set(replace(caller(), grant=grant))
        return PageSearch(KnowledgeClient(self.knowledge))


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    async with open_store(tmp_path, HashingEmbedder(), parser=shared_parser()) as store:
        made = await store.collections.create("looms", **ANA)
        await store.collections.create("felt", **ANA)
        await store.collections.create("looms", **EVE)
        [_ async for _ in store.documents.ingest(made.id, "a.pdf", pdf("A shed.", "A heddle."))]
        uri = picture_uri(made.public_id, document_id(made.id, "a.pdf"), 2)
        async with knowledge_stub(store) as knowledge:
            yield Shelf(knowledge, uri)


async def test_the_owner_finds_the_page_of_an_address(shelf: Shelf) -> None:
    page = await shelf.pages_of(ANA).find(["looms"], shelf.uri)
    same = await shelf.pages_of(ANA).find(["looms"], f"https://heddle.example{shelf.uri}")
    assert page == same
    assert (page.collection, page.document, page.page) == ("looms", "a.pdf", 2)
    assert page.picture_uri == shelf.uri
    seen = await shelf.pages_of(ANA).interpret(page, "?")
    assert not seen.visual


async def test_every_other_address_is_answered_alike(shelf: Shelf) -> None:
    pages = shelf.pages_of(ANA)
    wrong = [
        (["felt"], shelf.uri),
        (["nothing"], shelf.uri),
        (["looms"], shelf.uri.removesuffix("2") + "3"),
        (["looms"], shelf.uri.replace("doc_", "doc_0")[: len(shelf.uri)]),
        (["looms"], "/etc/passwd"),
        (["looms"], "../../pages/1"),
        (["looms"], f"file://{shelf.uri}"),
        (["looms"], f"{shelf.uri}/../1"),
        (["looms"], ""),
    ]
    for collections, uri in wrong:
        with pytest.raises(ToolError, match=NO_PAGE):
            await pages.find(collections, uri)


async def test_somebody_elses_page_is_not_there(shelf: Shelf) -> None:
    page = await shelf.pages_of(ANA).find(["looms"], shelf.uri)
    eves = shelf.pages_of(EVE)
    with pytest.raises(ToolError, match=NO_PAGE):
        await eves.find(["looms"], shelf.uri)
    with pytest.raises(ToolError, match=NO_PAGE):
        await eves.interpret(page, "?")


@pytest.mark.exhaustive
async def test_one_collection_that_fails_does_not_cost_the_others(shelf: Shelf) -> None:
    found = await shelf.pages_of(ANA).search(["looms", "nothing"], "shed", top_k=3)
    first, second = found.failures
    assert "page handling SEARCH" in first.message
    assert (second.collection, second.unavailable) == ("nothing", False)
    assert found.pages == ()
