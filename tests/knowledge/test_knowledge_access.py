"""Whose collections are whose: over real calls with signed identities, on a real store."""

from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any, TypeVar

import grpc
import pytest
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_knowledge.embedders.embedding import MINILM
from heddle_runtime.errors import (
    AlreadyExistsError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    from_rpc,
    from_status,
)
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_call_options
from heddle_runtime.identity.callers import ADMIN, ORGANIZATION_ADMIN, Identity
from heddle_runtime.settings.service import ServiceSettings
from knowledge.knowledge_serving import knowledge_service

SECRET = "a secret of thirty-two characters"
PEOPLE = {
    "ana": Identity("ana@uni.example", "uni", ("creator",)),
    "ben": Identity("ben@uni.example", "uni", ("creator",)),
    "head": Identity("head@uni.example", "uni", (ORGANIZATION_ADMIN,)),
    "eve": Identity("eve@college.example", "college", (ORGANIZATION_ADMIN,)),
    "twin": Identity("ana@uni.example", "college", ("creator",)),
    "operator": Identity("operator", scopes=(ADMIN,)),
}
ResponseT = TypeVar("ResponseT")


class Knowledge:
    """Calls the service in the name of one person."""

    def __init__(self, stub: "pb_grpc.KnowledgeServiceAsyncStub", identity: Identity) -> None:
        self._stub = stub
        self._caller = Caller("req", identity)

    async def __call__(self, method: str, request: Any) -> Any:
        before = CALLER.set(self._caller)
        try:
            return await searched(getattr(self._stub, method)(request, **new_call_options(30)))
        finally:
            CALLER.reset(before)

    async def create(self, name: str, **fields: Any) -> pb.Collection:
        request = pb.CreateCollectionRequest(collection=pb.Collection(name=name, **fields))
        made: pb.Collection = (await self("CreateCollection", request)).collection
        return made

    async def ingest(self, collection: str, name: str, text: str) -> None:
        request = pb.IngestDocumentRequest(collection=collection, name=name, data=text.encode())
        before = CALLER.set(self._caller)
        try:
            [_ async for _ in self._stub.IngestDocument(request, **new_call_options(30))]
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error
        finally:
            CALLER.reset(before)

    async def names(self, page_size: int = 0) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        token = ""
        while True:
            request = pb.ListCollectionsRequest(page_size=page_size, page_token=token)
            page = await self("ListCollections", request)
            found += [(each.organization, each.name) for each in page.collections]
            if not (token := page.next_page_token):
                return found

    async def texts(self, collection: str) -> list[str]:
        request = pb.SearchCollectionsRequest(collections=[collection], query="threads")
        (result,) = (await self("SearchCollections", request)).results
        return [passage.text for passage in result.passages]


async def answered(call: Awaitable[ResponseT]) -> ResponseT:
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        raise from_rpc(error) from error


async def searched(call: Awaitable[ResponseT]) -> ResponseT:
    """Return a response; raise the error of the first collection that was not searched."""
    response = await answered(call)
    if isinstance(response, pb.SearchCollectionsResponse):
        for result in response.results:
            if result.HasField("error"):
                raise from_status(result.error)
    return response


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[dict[str, Knowledge]]:
    settings = ServiceSettings.model_validate(
        {"listen": "127.0.0.1:0", "drain_wait": 0.0, "HEDDLE_IDENTITY_SECRET": SECRET}
    )

    async with knowledge_service(tmp_path, settings) as stub:
        yield {name: Knowledge(stub, identity) for name, identity in PEOPLE.items()}


def calls_about(reference: str) -> dict[str, Any]:
    """Return a request of every method that reads or changes an existing collection."""
    return {
        "GetCollection": pb.GetCollectionRequest(name=reference),
        "UpdateCollection": pb.UpdateCollectionRequest(name=reference, title="Mine now"),
        "GetCollectionStatistics": pb.GetCollectionStatisticsRequest(collection=reference),
        "DeleteCollection": pb.DeleteCollectionRequest(name=reference),
        "GetDocument": pb.GetDocumentRequest(collection=reference, name="shed.md"),
        "ListDocuments": pb.ListDocumentsRequest(collection=reference),
        "DeleteDocument": pb.DeleteDocumentRequest(collection=reference, name="shed.md"),
        "SearchCollections": pb.SearchCollectionsRequest(collections=[reference], query="threads"),
    }


READING = ("GetCollection", "GetCollectionStatistics", "GetDocument", "ListDocuments")


async def refusal(person: Knowledge, method: str, request: Any) -> HeddleError:
    with pytest.raises(HeddleError) as caught:
        await person(method, request)
    return caught.value


async def test_what_belongs_to_others_is_answered_like_what_is_missing(
    people: dict[str, Knowledge],
) -> None:
    made = await people["ana"].create("looms")
    await people["ana"].ingest("looms", "shed.md", "Threads part.")
    nowhere = "vs_" + "0" * 32
    for name in ("ben", "eve", "twin"):
        for method, request in calls_about(made.id).items():
            forbidden = await refusal(people[name], method, request)
            missing = await refusal(people[name], method, calls_about(nowhere)[method])
            assert type(forbidden) is type(missing) is NotFoundError
            assert forbidden.message.replace(made.id, nowhere) == missing.message
            by_name = await refusal(people[name], method, calls_about("looms")[method])
            assert by_name.message == missing.message.replace(nowhere, "looms")
        with pytest.raises(NotFoundError):
            await people[name].ingest(made.id, "shed.md", "Mine.")
        assert await people[name].names() == []
    assert await people["ana"].texts("looms") == ["Threads part."]


async def test_the_owner_and_the_administrators_may_do_everything(
    people: dict[str, Knowledge],
) -> None:
    for name in ("ana", "head", "operator"):
        made = await people["ana"].create("looms")
        assert (made.owner, made.organization) == ("ana@uni.example", "uni")
        await people["ana"].ingest("looms", "shed.md", "Threads part.")
        for method, request in calls_about(made.id).items():
            if method not in ("DeleteCollection", "DeleteDocument"):
                await people[name](method, request)
        for method in ("DeleteDocument", "DeleteCollection"):
            await people[name](method, calls_about(made.id)[method])


async def test_sharing_lets_others_read_and_nothing_more(people: dict[str, Knowledge]) -> None:
    made = await people["ana"].create("looms", sharing=pb.SHARING_ORGANIZATION)
    await people["ana"].ingest("looms", "shed.md", "Threads part.")
    assert await people["ben"].texts("looms") == ["Threads part."]
    assert await people["ben"].names() == [("uni", "looms")]
    for method, request in calls_about("looms").items():
        if method in (*READING, "SearchCollections"):
            await people["ben"](method, request)
        else:
            assert isinstance(await refusal(people["ben"], method, request), PermissionDeniedError)
    with pytest.raises(PermissionDeniedError):
        await people["ben"].ingest("looms", "shed.md", "Mine.")
    with pytest.raises(NotFoundError):
        await people["eve"].texts(made.id)

    withdrawn = pb.UpdateCollectionRequest(name="looms", sharing=pb.SHARING_PRIVATE)
    await people["ana"]("UpdateCollection", withdrawn)
    with pytest.raises(NotFoundError):
        await people["ben"].texts("looms")


async def test_only_who_may_do_everything_shares_with_everyone(
    people: dict[str, Knowledge],
) -> None:
    for name in ("ana", "head"):
        with pytest.raises(PermissionDeniedError, match="'admin'"):
            await people[name].create("looms", sharing=pb.SHARING_EVERYONE)
    made = await people["ana"].create("looms")
    everyone = pb.UpdateCollectionRequest(name=made.id, sharing=pb.SHARING_EVERYONE)
    with pytest.raises(PermissionDeniedError, match="'admin'"):
        await people["ana"]("UpdateCollection", everyone)
    await people["operator"]("UpdateCollection", everyone)
    assert await people["eve"].names() == [("uni", "looms")]


async def test_a_name_means_the_own_organisations_collection_before_anybody_elses(
    people: dict[str, Knowledge],
) -> None:
    for name, sharing in (
        ("operator", pb.SHARING_EVERYONE),
        ("ana", pb.SHARING_PRIVATE),
        ("eve", pb.SHARING_ORGANIZATION),
    ):
        await people[name].create("looms", sharing=sharing)
        await people[name].ingest("looms", "whose.md", f"Threads of {name}.")
    whose = {"ana": "ana", "head": "ana", "ben": "operator", "eve": "eve", "operator": "operator"}
    for name, expected in whose.items():
        assert await people[name].texts("looms") == [f"Threads of {expected}."]
    with pytest.raises(AlreadyExistsError):
        await people["ben"].create("looms")


async def test_pages_of_a_list_hold_each_collection_once(people: dict[str, Knowledge]) -> None:
    for name in ("ana", "eve", "operator"):
        for title in ("a", "a-b", "a.b", "b"):
            await people[name].create(title)
    names = ["a", "a-b", "a.b", "b"]
    assert await people["ana"].names(page_size=1) == [("uni", name) for name in names]
    listed = await people["operator"].names(page_size=5)
    expected = [(slug, name) for slug in ("college", "default", "uni") for name in names]
    assert sorted(listed) == expected
    assert [name for _, name in listed] == sorted(name for _, name in listed)


async def test_what_is_said_of_a_collection_comes_back_and_can_be_changed(
    people: dict[str, Knowledge],
) -> None:
    asked = {
        "title": "Looms",
        "sharing": pb.SHARING_ORGANIZATION,
        "chunking": pb.Chunking(
            target_characters=900, overlap_characters=90, parent_characters=3000
        ),
        "page_handling": pb.PAGE_HANDLING_TEXT,
        "embedding_model": MINILM,
        "graph": True,
        "metadata": {"course": "Weaving"},
    }
    made = await people["ana"].create("looms", **asked)
    for name, value in asked.items():
        assert getattr(made, name) == value, name
    assert made.HasField("create_time")
    change = pb.UpdateCollectionRequest(
        name=made.id, title="", metadata=pb.CollectionMetadata(entries={"term": "2"})
    )
    changed = (await people["ana"]("UpdateCollection", change)).collection
    expected = pb.Collection()
    expected.CopyFrom(made)
    expected.title = ""
    expected.metadata.clear()
    expected.metadata["term"] = "2"
    assert changed == expected
    read = await people["ben"]("GetCollection", pb.GetCollectionRequest(name="looms"))
    expected.changeable = False
    assert read.collection == expected


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"name": "vs_" + "a" * 32}, "collection.name"),
        ({"chunking": pb.Chunking(target_characters=99)}, "chunking.target_characters"),
        ({"chunking": pb.Chunking(overlap_characters=225)}, "chunking.overlap_characters"),
        ({"chunking": pb.Chunking(parent_characters=449)}, "chunking.parent_characters"),
        ({"metadata": {"": "x"}}, "collection.metadata."),
        ({"metadata": {str(n): "" for n in range(17)}}, "collection.metadata"),
        ({"sharing": 9}, "collection.sharing"),
        ({"page_handling": 9}, "collection.page_handling"),
    ],
)
async def test_a_collection_that_cannot_be_is_refused(
    people: dict[str, Knowledge], fields: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await people["ana"].create(**{"name": "looms", **fields})
    assert caught.value.violations[0].field.endswith(path)


async def test_a_document_is_found_by_its_identifier(people: dict[str, Knowledge]) -> None:
    await people["ana"].create("looms")
    for name in ("a.md", "b.md"):
        await people["ana"].ingest("looms", name, "Threads part.")
    listed = await people["ana"]("ListDocuments", pb.ListDocumentsRequest(collection="looms"))
    for each in listed.documents:
        asked = pb.GetDocumentRequest(collection="looms", name=each.id)
        assert (await people["ana"]("GetDocument", asked)).document == each
    gone = pb.DeleteDocumentRequest(collection="looms", name=listed.documents[0].id)
    await people["ana"]("DeleteDocument", gone)
    assert isinstance(await refusal(people["ana"], "DeleteDocument", gone), NotFoundError)


async def test_statistics_count_what_is_there(people: dict[str, Knowledge]) -> None:
    await people["ana"].create("looms")
    asked = pb.GetCollectionStatisticsRequest(collection="looms")
    empty = await people["ana"]("GetCollectionStatistics", asked)
    assert (empty.document_count, empty.passage_count) == (0, 0)
    for name, text in (("a.md", "# A\n\nOne.\n\n# B\n\nTwo."), ("b.txt", "Three.")):
        await people["ana"].ingest("looms", name, text)
    counted = await people["ana"]("GetCollectionStatistics", asked)
    assert (counted.document_count, counted.passage_count) == (2, 3)
    assert counted.document_bytes == len("# A\n\nOne.\n\n# B\n\nTwo.") + len("Three.")
