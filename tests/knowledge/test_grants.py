"""Grants: whose rights a search has that carries one, over the wire and within the process."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_knowledge.store import KnowledgeStore, open_store
from heddle_runtime.errors import NotFoundError, UnauthenticatedError, from_rpc
from heddle_runtime.identity import grants
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_call_options
from heddle_runtime.identity.callers import ADMIN, Identity, TokenSigner
from heddle_runtime.identity.grants import Grant, GrantSigner, carrying
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import running
from heddle_runtime.settings.service import ServiceSettings
from knowledge.serving import CONTRACT, knowledge_binding
from knowledge.shared_parser import shared_parser

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

SECRET = "s" * 32
QUERY = pb.EMBEDDING_KIND_QUERY
ANA = Grant("ana@uni.example", "uni")
BEN = Grant("ben@uni.example", "uni")
EVE = Grant("eve@college.example", "college")
TWIN = Grant("ana@uni.example", "college")
NOBODY = Grant("", "uni")
OPERATOR = Grant("", "")
STUDENT = Identity("student@uni.example", "uni", ("creator",))
ROOT = Identity("root", scopes=(ADMIN,))
WIRES = ("multiplexed", "calls", "process")


@dataclass
class Desk:
    """The knowledge service, asked by a student of the university."""

    store: KnowledgeStore
    stub: Any
    caller: Identity = STUDENT

    async def keep(self, name: str, text: str, **fields: Any) -> str:
        """Make a collection with one document and return its identifier."""
        made = await self.store.collections.create(name, **fields)
        [_ async for _ in self.store.documents.ingest(made.id, "a.md", text.encode())]
        return made.public_id

    async def share(self, identifier: str, sharing: str) -> None:
        record = await self.store.collections.get(identifier.removeprefix("vs_"))
        await self.store.collections.change(replace(record, sharing=sharing))  # type: ignore[arg-type] # a test's own words

    def signed(self, grant: Grant, seconds: float = 30, secret: str = SECRET) -> str:
        self.enter()
        return GrantSigner(secret).sign(grant, seconds)

    def enter(self) -> None:
        CALLER.set(Caller("req", self.caller))

    async def search(self, token: str, *collections: str) -> list[pb.CollectionPassages]:
        self.enter()
        request = pb.SearchCollectionsRequest(collections=collections, query="threads")
        try:
            with carrying(token):
                response = await self.stub.SearchCollections(request, **new_call_options(30))
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error
        return list(response.results)

    async def text(self, token: str, collection: str) -> str:
        """Return what a search finds; empty if the collection is not there for it."""
        [result] = await self.search(token, collection)
        if result.HasField("error"):
            assert result.error.code in (
                grpc.StatusCode.NOT_FOUND.value[0],
                grpc.StatusCode.FAILED_PRECONDITION.value[0],
            )
            return ""
        return "".join(passage.text for passage in result.passages)


@pytest.fixture(params=WIRES)
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    async with serving(tmp_path, request.param) as running_desk:
        yield running_desk


@asynccontextmanager
async def serving(folder: Path, wire: str) -> AsyncIterator[Desk]:
    settings = ServiceSettings.model_validate(
        {
            "listen": "127.0.0.1:0",
            "drain_wait": 0,
            "HEDDLE_IDENTITY_SECRET": SECRET,
            "HEDDLE_MULTIPLEXING": wire == "multiplexed",
        }
    )
    async with (
        open_store(folder, HashingEmbedder(), parser=shared_parser()) as store,
        running(knowledge_binding(store, secret=SECRET), settings) as service,
        channel(service.address, CONTRACT, secret=settings.identity_secret) as connection,
    ):
        way: Any = service.local if wire == "process" else connection
        yield Desk(store, pb_grpc.KnowledgeServiceStub(way))


async def test_a_grant_gives_the_rights_of_the_assistants_owner(desk: Desk) -> None:
    made = await desk.keep("looms", "Threads part.", owner=ANA.owner, organization="uni")
    for reference in ("looms", made):
        assert await desk.text(desk.signed(ANA), reference) == "Threads part."
        assert await desk.text("", reference) == ""  # the student may not read it


async def test_models_serve_a_member_only_with_a_grant(desk: Desk) -> None:
    identifier = await desk.keep("looms", "Threads.", owner=ANA.owner, organization="uni")
    await desk.share(identifier, "organization")
    desk.caller = Identity("member@uni.example", "uni")
    page = pb.InterpretPageRequest(collection=identifier, document="d", page=1, prompt="?")
    grant, refused = desk.signed(ANA), grpc.StatusCode.PERMISSION_DENIED
    for method, request in (
        (desk.stub.EmbedTexts, pb.EmbedTextsRequest(texts=["a"], kind=QUERY)),
        (desk.stub.InterpretPage, page),
    ):
        for token in ("", grant):
            with carrying(token), pytest.raises(grpc.aio.AioRpcError) as caught:
                await method(request, **new_call_options(30))
            # The desk has neither a model nor a page.
            assert (caught.value.code() == refused) == (not token)


@pytest.mark.parametrize(
    ("sharing", "readers"),
    [
        ("private", [ANA]),
        ("organization", [ANA, BEN, NOBODY]),
        ("everyone", [ANA, BEN, NOBODY, EVE, TWIN, OPERATOR]),
    ],
)
async def test_the_grant_of_another_owner_reads_what_is_shared_with_that_owner(
    desk: Desk, sharing: str, readers: list[Grant]
) -> None:
    made = await desk.keep(
        "looms", "Threads part.", owner=ANA.owner, organization="uni", sharing=sharing
    )
    for grant in (ANA, BEN, NOBODY, EVE, TWIN, OPERATOR):
        found = await desk.text(desk.signed(grant), made)
        assert found == ("Threads part." if grant in readers else "")


async def test_what_is_shared_no_more_is_refused_within_the_life_of_a_grant(desk: Desk) -> None:
    made = await desk.keep(
        "looms", "Threads part.", owner=ANA.owner, organization="uni", sharing="organization"
    )
    token = desk.signed(BEN)
    assert await desk.text(token, made) == "Threads part."
    await desk.share(made, "private")
    assert await desk.text(token, made) == ""


async def test_an_administrators_call_with_a_grant_has_the_rights_of_the_grant(desk: Desk) -> None:
    made = await desk.keep("looms", "Threads part.", owner=ANA.owner, organization="uni")
    desk.caller = ROOT
    assert await desk.text("", made) == "Threads part."
    assert await desk.text(desk.signed(EVE), made) == ""


async def refused(desk: Desk, token: str) -> str:
    with pytest.raises(UnauthenticatedError) as caught:
        await desk.search(token, "looms")
    return caught.value.message


async def test_a_forged_grant_is_refused(desk: Desk) -> None:
    await desk.keep("looms", "Threads part.", owner=ANA.owner, organization="uni")
    header, payload, signature = desk.signed(ANA).split(".")
    _, other, _ = desk.signed(EVE).split(".")
    identity = TokenSigner(SECRET).token(STUDENT, CONTRACT.full_name)
    for token in (
        desk.signed(ANA, secret="x" * 32),
        f"{header}.{other}.{signature}",
        f"{header}.{payload}.",
        f"{header}.{payload}",
        "nonsense",
        identity,  # an identity is no grant
    ):
        assert await refused(desk, token) == "The call carries no valid grant."


async def test_an_expired_grant_is_refused(desk: Desk) -> None:
    await desk.keep("looms", "Threads part.", owner=ANA.owner, organization="uni")
    expired = desk.signed(ANA, seconds=-grants.LEEWAY_SECONDS - 2)
    assert await refused(desk, expired) == "The call's grant has expired."


async def test_a_grant_of_the_future_is_refused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.keep("looms", "Threads part.", owner=ANA.owner, organization="uni")
    with monkeypatch.context() as patched:
        now = time.time()
        patched.setattr("time.time", lambda: now + 60)
        token = desk.signed(ANA)
    assert await refused(desk, token) == "The call carries no valid grant."


async def test_a_grant_serves_the_caller_alone_that_it_was_issued_to(desk: Desk) -> None:
    await desk.keep("looms", "Threads part.", owner=ANA.owner, organization="uni")
    token = desk.signed(ANA)
    for thief in (
        Identity("other@uni.example", "uni", ("creator",)),
        Identity(STUDENT.subject, "college", ("creator",)),
        ROOT,
    ):
        desk.caller = thief
        assert await refused(desk, token) == "The call's grant was issued to another caller."


async def test_a_grant_is_no_identity_and_gives_no_other_right(desk: Desk) -> None:
    made = await desk.keep("looms", "Threads part.", owner=ANA.owner, organization="uni")
    token = desk.signed(ANA)
    with carrying(token):
        for method, request in (
            ("GetCollection", pb.GetCollectionRequest(name=made)),
            ("DeleteCollection", pb.DeleteCollectionRequest(name=made)),
            ("ListDocuments", pb.ListDocumentsRequest(collection=made)),
        ):
            with pytest.raises(NotFoundError):
                await asked(desk, method, request)


async def asked(desk: Desk, method: str, request: Any) -> Any:
    try:
        return await getattr(desk.stub, method)(request, **new_call_options(30))
    except grpc.aio.AioRpcError as error:
        raise from_rpc(error) from error
