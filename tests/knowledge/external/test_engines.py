"""Collections of Chroma, Qdrant and Weaviate, searched as Heddle's own."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from heddle.account.v1 import account_pb2
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.external.collections import ENGINES, ExternalCollections
from heddle_runtime.http.egress import Egress
from heddle_runtime.http.guarded_http import new_client
from heddle_runtime.identity.call_metadata import CALLER, Caller, CallOptions, new_call_options
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.organization_settings import OrganizationSettings, account_stub
from knowledge.external.engine_servers import ENTRIES, NAME, SERVERS, Running
from knowledge.serving import knowledge_stub
from knowledge.store.places import Place
from knowledge.web.site import ALLOWED
from runtime.accounts import Accounts, serving_accounts
from runtime.ports import free_port

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

if TYPE_CHECKING:  # a class of the stubs alone
    from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceAsyncStub

ANN = Identity("ann@uni.example", "uni", scopes=("organization_admin",))
WHERE = {"server": "campus", "collection_id": NAME, "title": "title", "uri": "uri", "page": "page"}
QUESTION = "What lifts the warp threads?"
MODES = {
    "hybrid": pb.SEARCH_MODE_HYBRID,
    "vector": pb.SEARCH_MODE_VECTOR,
    "text": pb.SEARCH_MODE_TEXT,
}


@asynccontextmanager
async def serving(
    folder: Path, kind: str, server: Running, egress: Egress
) -> AsyncGenerator["KnowledgeServiceAsyncStub"]:
    """Yield the knowledge service of an organisation that has set up a server."""
    accounts = Accounts(owners={ANN.subject: "uni"})  # type: ignore[abstract] # it does not offer every method
    configured = account_pb2.SearchServer(
        kind=kind, url=server.url, api_key=server.key, grpc_url=server.grpc_url
    )
    accounts.add("uni", search_servers={"campus": configured})
    embedder = HashingEmbedder()

    async def embedders() -> list[HashingEmbedder]:
        return [embedder]

    async with (
        Place(str(folder / "store")).store(embedder) as store,
        new_client(5.0) as http,
        new_client(5.0, egress) as guarded,
        serving_accounts(accounts) as service,
    ):
        settings = OrganizationSettings(
            account_stub(service.local), ServiceCredentials("heddle-knowledge"), cache_seconds=0
        )
        external = ExternalCollections(http, guarded, egress, embedders, settings, 5.0)
        async with knowledge_stub(store, external=external, settings=settings) as stub:
            yield stub


def options() -> CallOptions:
    CALLER.set(Caller("req_1", ANN))
    return new_call_options(10)


async def connect(stub: "KnowledgeServiceAsyncStub", kind: str, **settings: str) -> pb.Collection:
    place = WHERE | ({"text": "body"} if kind != "chroma" else {})
    place |= {"vector": "body"} if kind == "qdrant" else {}
    collection = pb.Collection(name="there", backend=kind, settings=place | settings)
    if kind == "weaviate":
        collection.embedding_model = "hashed-words"
    request = pb.CreateCollectionRequest(collection=collection)
    return (await stub.CreateCollection(request, **options())).collection


async def search(stub: "KnowledgeServiceAsyncStub", **fields: Any) -> pb.CollectionPassages:
    query = {"query": QUESTION, "collections": ["there"]} | fields
    request = pb.SearchCollectionsRequest(**query)
    (result,) = (await stub.SearchCollections(request, **options())).results
    return result


def year(operator: pb.Operator.ValueType, *values: str) -> pb.Filter:
    return pb.Filter(comparison=pb.Comparison(key="year", operator=operator, values=values))


@pytest.mark.parametrize("kind", SERVERS)
async def test_a_collection_elsewhere_is_searched_as_one_of_heddle(
    kind: str, tmp_path: Path
) -> None:
    engine = ENGINES[kind]
    async with (
        SERVERS[kind](tmp_path) as server,
        serving(tmp_path, kind, server, Egress([ALLOWED])) as stub,
    ):
        collection = await connect(stub, kind)
        assert (collection.backend, collection.embedding_model) == (kind, "hashed-words")
        choices = await stub.GetCollectionOptions(pb.GetCollectionOptionsRequest(), **options())
        assert [(it.name, it.backend) for it in choices.search_servers] == [("campus", kind)]

        # What matches best comes first, with its source.
        result = await search(stub, top_k=3)
        assert not result.error.message
        assert (result.collection_id, len(result.passages)) == (collection.id, 3)
        first = result.passages[0]
        entry = ENTRIES[1]
        shown = (first.text, first.title, first.uri, first.page, first.metadata["year"])
        assert shown == (entry["body"], "Looms", "https://uni.example/Looms", 1, "2023")
        relevances = [each.relevance for each in result.passages]
        assert relevances == sorted(relevances, reverse=True)

        # The similarity is the cosine, so a threshold declines as everywhere.
        vectors = await HashingEmbedder().embed([QUESTION, entry["body"]], "query")
        assert first.similarity == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-3)
        high = await search(stub, threshold=first.similarity - 0.01)
        assert [each.text for each in high.passages] == [entry["body"]]
        assert not (await search(stub, query="quantum gravity", threshold=0.3)).passages

        # Each mode works, or is named as ignored.
        for name, mode in MODES.items():
            offered = name in engine.modes
            result = await search(stub, mode=mode)
            assert result.passages[0].text == entry["body"]
            assert list(result.ignored_fields) == ([] if offered else ["mode"])
        reordered = await search(stub, recency_weight=0.5, vector_weight=0.2)
        assert list(reordered.ignored_fields) == ["recency_weight", "vector_weight"]

        # Filters work on texts and numbers, or are refused: none is dropped.
        filters = [
            (year(pb.OPERATOR_EQUAL, "2024"), {"Weaving", "Exams"}),
            (year(pb.OPERATOR_NOT_IN, "2024", "1999"), {"Looms", "Library"}),
            (year(pb.OPERATOR_LESS, "2024"), {"Looms", "Library"}),
            (
                pb.Filter(
                    any=pb.Filters(
                        filters=[
                            year(pb.OPERATOR_GREATER, "2023"),
                            pb.Filter(
                                comparison=pb.Comparison(
                                    key="title", operator=pb.OPERATOR_IN, values=["Looms"]
                                )
                            ),
                        ]
                    )
                ),
                {"Weaving", "Exams", "Looms"},
            ),
        ]
        for condition, titles in filters:
            result = await search(stub, filter=condition)
            if engine.filters:
                assert {each.title for each in result.passages} == titles, result.error
            else:
                assert "cannot filter" in result.error.message
                assert not result.passages

        # Nothing is written there.
        with pytest.raises(grpc.aio.AioRpcError, match="Heddle only searches it"):
            async for _ in stub.IngestDocument(
                pb.IngestDocumentRequest(collection="there", name="a.txt", data=b"text"),
                **options(),
            ):
                pass
        await stub.DeleteCollection(pb.DeleteCollectionRequest(name="there"), **options())
        assert (await search(stub)).error.message


async def test_weaviate_can_embed_the_question_by_itself(tmp_path: Path) -> None:
    async with (
        SERVERS["weaviate"](tmp_path) as server,
        serving(tmp_path, "weaviate", server, Egress([ALLOWED])) as stub,
    ):
        collection = pb.Collection(
            name="there", backend="weaviate", settings=WHERE | {"text": "body"}
        )
        await stub.CreateCollection(pb.CreateCollectionRequest(collection=collection), **options())
        near = await search(stub, mode=pb.SEARCH_MODE_VECTOR, threshold=0.3)
        assert near.passages[0].text == ENTRIES[1]["body"]
        assert not near.ignored_fields
        hybrid = await search(stub, threshold=0.3)
        assert list(hybrid.ignored_fields) == ["threshold"]  # it tells no similarity


@pytest.mark.parametrize(
    ("kind", "change", "settings", "reason"),
    [
        ("qdrant", {"key": "wrong"}, {}, "refuses its key"),
        ("weaviate", {"key": "wrong"}, {}, "refuses its key"),
        ("qdrant", {}, {"collection_id": "Other"}, "no such collection"),
        ("weaviate", {}, {"collection_id": "Other"}, "no such collection"),
        ("qdrant", {}, {"text": "content"}, "no text under 'content'. They have: body"),
        ("qdrant", {}, {"server": "library"}, "no server 'library' of Qdrant"),
        ("qdrant", {}, {"text": ""}, "must be set for a collection of Qdrant"),
        ("qdrant", {}, {"database": "x"}, "is not a setting of this backend"),
        ("qdrant", {"url": "http://127.0.0.2:1"}, {}, "private network"),
        ("weaviate", {"grpc_url": "http://127.0.0.2:1"}, {}, "private network"),
        ("qdrant", {"url": "CLOSED"}, {}, "does not answer"),
        ("weaviate", {"grpc_url": "CLOSED"}, {}, "does not answer"),
        ("chroma", {"url": "CLOSED"}, {}, "does not answer"),
    ],
)
async def test_a_collection_that_cannot_be_searched_is_refused_with_the_reason(
    kind: str, change: dict[str, str], settings: dict[str, str], reason: str, tmp_path: Path
) -> None:
    running = SERVERS["weaviate" if kind == "weaviate" else "qdrant"]
    async with running(tmp_path) as real:
        closed = f"http://127.0.0.1:{free_port()}"
        fields = {"url": real.url, "key": real.key, "grpc_url": real.grpc_url} | change
        server = Running(**{name: closed if it == "CLOSED" else it for name, it in fields.items()})
        async with serving(tmp_path, kind, server, Egress([ALLOWED])) as stub:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await connect(stub, kind, **settings)
            message = f"{refused.value.details()} {refused.value.trailing_metadata()}"
            assert reason in message
            listed = await stub.ListCollections(pb.ListCollectionsRequest(), **options())
            assert not listed.collections
