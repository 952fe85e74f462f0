"""An organisation chooses the embedding model of new collections, and what reorders searches."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.external.collections import ExternalCollections
from heddle_knowledge.store import open_store
from heddle_runtime.http.egress import Egress
from heddle_runtime.http.guarded_http import new_client
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_call_options
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.organization_settings import OrganizationSettings, account_stub
from knowledge.serving import knowledge_stub
from knowledge.shared_parser import shared_parser
from knowledge.store.test_options import ShortestFirst
from runtime.accounts import Accounts, serving_accounts

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

if TYPE_CHECKING:  # a class of the stubs alone
    from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceAsyncStub

CHOICES = {"uni": "other-words", "gone": "a-model-of-yesterday", "none": ""}
MODELS = [HashingEmbedder(), HashingEmbedder(model="other-words")]


async def embedders() -> list[HashingEmbedder]:
    return MODELS


@asynccontextmanager
async def serving(
    folder: Path, accounts: Accounts, reranker: ShortestFirst | None = None
) -> AsyncGenerator["KnowledgeServiceAsyncStub"]:
    async with AsyncExitStack() as exits:
        opening = open_store(
            folder, MODELS[0], others=MODELS[1:], parser=shared_parser(), reranker=reranker
        )
        store = await exits.enter_async_context(opening)
        http = await exits.enter_async_context(new_client(5.0))
        service = await exits.enter_async_context(serving_accounts(accounts))
        settings = OrganizationSettings(
            account_stub(service.local), ServiceCredentials("heddle-knowledge"), cache_seconds=0
        )
        external = ExternalCollections(http, http, Egress(), embedders, settings)
        stub = knowledge_stub(
            store,
            embedders=embedders,
            external=external,
            settings=settings,
            reranking_model="shortest-first" if reranker else "",
        )
        yield await exits.enter_async_context(stub)


def call_as_member_of(slug: str) -> None:
    CALLER.set(Caller("req_1", Identity("ann@x.example", slug, scopes=("organization_admin",))))


async def test_new_collections_have_the_model_that_their_organisation_chose(tmp_path: Path) -> None:
    accounts = Accounts()  # type: ignore[abstract] # it does not offer every method
    for slug, model in CHOICES.items():
        accounts.add(slug, embedding_model=model)
    models_by_slug: dict[str, tuple[str, str]] = {}
    async with serving(tmp_path, accounts) as stub:
        for slug in CHOICES:
            call_as_member_of(slug)
            request = pb.CreateCollectionRequest(collection=pb.Collection(name=f"of-{slug}"))
            collection = (await stub.CreateCollection(request, **new_call_options(10))).collection
            offers = await stub.GetCollectionOptions(
                pb.GetCollectionOptionsRequest(), **new_call_options(10)
            )
            models_by_slug[slug] = collection.embedding_model, offers.embedding_models[0]
        named = pb.Collection(name="named", embedding_model="other-words")
        request = pb.CreateCollectionRequest(collection=named)
        collection = (await stub.CreateCollection(request, **new_call_options(10))).collection

    assert models_by_slug == {
        "uni": ("other-words", "other-words"),
        "gone": ("hashed-words", "hashed-words"),
        "none": ("hashed-words", "hashed-words"),
    }
    assert collection.embedding_model == "other-words"


async def test_searches_are_reordered_by_the_model_that_their_organisation_chose(
    tmp_path: Path,
) -> None:
    accounts = Accounts()  # type: ignore[abstract] # it does not offer every method
    for slug, model in {"uni": "shortest-first", "gone": "of-yesterday", "none": ""}.items():
        accounts.add(slug, reranking_model=model)
    reranker = ShortestFirst()
    async with serving(tmp_path, accounts, reranker) as stub:
        for slug in ("uni", "gone", "none"):
            call_as_member_of(slug)
            named = pb.Collection(name="docs")
            await stub.CreateCollection(
                pb.CreateCollectionRequest(collection=named), **new_call_options(10)
            )
            document = pb.IngestDocumentRequest(
                collection="docs", name="cat.txt", data=b"A cat sleeps.", media_type="text/plain"
            )
            async for _ in stub.IngestDocument(document, **new_call_options(10)):
                pass
            for reranking in pb.Reranking.values()[:2]:
                request = pb.SearchCollectionsRequest(
                    collections=["docs"], query=f"{slug} {reranking}", reranking=reranking
                )
                await stub.SearchCollections(request, **new_call_options(10))

    assert [query for query, _ in reranker.calls] == ["uni 0"]
