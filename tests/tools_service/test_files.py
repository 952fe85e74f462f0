"""`heddle.knowledge.v1.FileService`: uploads, and their way into collections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import files_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from heddle_runtime.calls import CALLER, Caller
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
    from_rpc,
)
from heddle_runtime.identity import ADMIN, ORGANIZATION_ADMIN, Identity
from heddle_runtime.server import Binding, running
from heddle_runtime.structs import from_struct, to_struct
from heddle_tools_service.knowledge.embedders.embedding import Kind, Vectors
from heddle_tools_service.knowledge.store import open_store
from heddle_tools_service.knowledge.testing import HashingEmbedder
from heddle_tools_service.uploads import folder
from tools_service.opening import knowledge_and_files
from tools_service.serving import SETTINGS

PEOPLE = {
    "ana": Identity("ana@uni.example", "uni"),
    "ben": Identity("ben@uni.example", "uni"),
    "head": Identity("head@uni.example", "uni", (ORGANIZATION_ADMIN,)),
    "twin": Identity("ana@uni.example", "college"),
    "root": Identity("root", scopes=(ADMIN,)),
}


class SlowEmbedder(HashingEmbedder):
    """Embeds nothing until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = asyncio.Event()
        self.may.set()
        self.asked = asyncio.Event()

    async def embed(self, texts: Any, kind: Kind) -> Vectors:
        self.asked.set()
        await self.may.wait()
        return await super().embed(texts, kind)


@dataclass
class Desk:
    """Both services, in the name of whoever is asked for."""

    files: Any
    knowledge: Any
    embedder: SlowEmbedder

    async def __call__(self, person: str, method: str, **fields: Any) -> Any:
        before = CALLER.set(Caller("req", PEOPLE[person]))
        service, module = (self.files, pb) if "File" in method else (self.knowledge, knowledge_pb2)
        try:
            request = getattr(module, f"{method}Request")(**fields)
            return await getattr(service, method)(request, timeout=30)
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error
        finally:
            CALLER.reset(before)

    async def upload(self, person: str, filename: str = "shed.md", text: str = "Threads.") -> str:
        made = await self(
            person, "CreateFile", filename=filename, purpose="assistants", data=text.encode()
        )
        return str(made.file.id)

    async def collection(self, person: str, name: str = "looms", **more: Any) -> str:
        made = knowledge_pb2.Collection(name=name, **more)
        return str((await self(person, "CreateCollection", collection=made)).collection.id)

    async def done(self, collection: str, identifier: str) -> Any:
        """Wait for a file of Ana's and return it."""
        async with asyncio.timeout(20):
            while True:
                fields = {"collection": collection, "file_id": identifier}
                found = (await self("ana", "GetAttachedFile", **fields)).file
                if found.status != pb.ATTACHMENT_STATUS_IN_PROGRESS:
                    return found
                await asyncio.sleep(0.01)

    async def found(self, collection: str) -> list[Any]:
        fields = {"collection": collection, "query": "threads", "top_k": 9}
        return list((await self("ana", "SearchCollection", **fields)).passages)


@asynccontextmanager
async def serving(root: Path) -> AsyncIterator[Desk]:
    embedder = SlowEmbedder()

    @asynccontextmanager
    async def app() -> AsyncIterator[list[Binding]]:
        async with (
            open_store(root, embedder) as store,
            knowledge_and_files(store, root / "uploads") as services,
        ):
            yield services

    async with running(app(), SETTINGS) as service:
        local = service.local
        yield Desk(
            files_pb2_grpc.FileServiceStub(local),
            knowledge_pb2_grpc.KnowledgeServiceStub(local),
            embedder,
        )


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with serving(tmp_path) as running_desk:
        yield running_desk


async def refusal(desk: Desk, person: str, method: str, **fields: Any) -> HeddleError:
    with pytest.raises(HeddleError) as caught:
        await desk(person, method, **fields)
    return caught.value


async def test_what_is_uploaded_is_what_comes_back(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        made = await desk(
            "ana",
            "CreateFile",
            filename="../notes/Sheds Ⅱ.md",
            purpose="user_data",
            media_type="text/markdown",
            data=b"Threads.",
        )
        assert made.file.filename == "Sheds Ⅱ.md"
        assert (made.file.size, made.file.purpose) == (8, "user_data")
    async with serving(tmp_path) as desk:
        assert (await desk("ana", "GetFile", id=made.file.id)).file == made.file
        content = await desk("ana", "GetFileContent", id=made.file.id)
        assert (content.file, content.data) == (made.file, b"Threads.")


async def test_a_file_is_its_uploaders_alone(desk: Desk) -> None:
    made, nowhere = await desk.upload("ana"), "file-" + "0" * 32
    mine = await desk.collection("ben")
    for person in ("ben", "head", "twin", "root"):
        for method in ("GetFile", "GetFileContent", "DeleteFile"):
            forbidden = await refusal(desk, person, method, id=made)
            missing = await refusal(desk, person, method, id=nowhere)
            assert type(forbidden) is type(missing) is NotFoundError
            assert forbidden.message.replace(made, nowhere) == missing.message
        assert not (await desk(person, "ListFiles")).files
    fields = {"collection": mine, "file_id": made}
    assert isinstance(await refusal(desk, "ben", "AttachFile", **fields), NotFoundError)
    await desk("ana", "DeleteFile", id=made)
    assert isinstance(await refusal(desk, "ana", "GetFile", id=made), NotFoundError)


async def test_pages_of_files_hold_each_once_in_the_order_of_their_uploads(desk: Desk) -> None:
    made = [await desk.upload("ana", f"{number}.md") for number in range(5)]
    found, token = [], ""
    while True:
        page = await desk("ana", "ListFiles", page_size=2, page_token=token)
        found += [each.id for each in page.files]
        if not (token := page.next_page_token):
            break
    assert found == made


@pytest.mark.parametrize("identifier", ["../x", "file-" + "A" * 32, "file-" + "0" * 33, "."])
async def test_what_is_no_identifier_names_no_file(desk: Desk, identifier: str) -> None:
    assert isinstance(await refusal(desk, "ana", "GetFile", id=identifier), NotFoundError)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"filename": "a\nb"}, "filename"),
        ({"filename": "x" * 256}, "filename"),
        ({"purpose": "fine-tune"}, "purpose"),
        ({"data": b""}, "data"),
    ],
)
async def test_a_file_that_cannot_be_is_refused(
    desk: Desk, fields: dict[str, Any], path: str
) -> None:
    whole = {"filename": "a.md", "purpose": "assistants", "data": b"x", **fields}
    refused = await refusal(desk, "ana", "CreateFile", **whole)
    assert isinstance(refused, InvalidRequestError)
    assert refused.violations[0].field == path


async def test_who_keeps_too_much_is_told_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MOST_BYTES", 20)
    await desk.upload("ana", text="0123456789")
    with pytest.raises(ResourceExhaustedError, match="Delete files"):
        await desk.upload("ana", text="0123456789.")
    await desk.upload("ben", text="0123456789")


async def test_a_file_comes_into_a_collection_with_its_attributes(desk: Desk) -> None:
    collection, made = await desk.collection("ana"), await desk.upload("ana")
    noted = {"course": "Weaving", "year": 2026, "open": True, "weight": 0.5}
    begun = await desk(
        "ana", "AttachFile", collection="looms", file_id=made, attributes=to_struct(noted)
    )
    assert begun.file.collection_id == collection
    done = await desk.done("looms", made)
    assert (done.status, done.error) == (pb.ATTACHMENT_STATUS_COMPLETED, "")
    assert from_struct(done.attributes) == noted
    [passage] = await desk.found("looms")
    assert (passage.text, passage.document) == ("Threads.", "shed.md")
    assert passage.metadata == {
        "file_id": made,
        "course": "Weaving",
        "year": "2026",
        "open": "true",
        "weight": "0.5",
    }
    changed = {"collection": "looms", "file_id": made, "attributes": to_struct({"year": 2027})}
    await desk("ana", "UpdateAttachedFile", **changed)
    assert from_struct((await desk.done("looms", made)).attributes) == {"year": 2027}
    [passage] = await desk.found("looms")
    assert passage.metadata == {"file_id": made, "year": "2027"}


async def test_two_files_of_one_name_are_two_documents(desk: Desk) -> None:
    await desk.collection("ana")
    texts = ("Threads one.", "Threads two.")
    made = [await desk.upload("ana", "shed.md", text) for text in texts]
    for each in (*made, made[0]):  # attaching again begins anew
        await desk("ana", "AttachFile", collection="looms", file_id=each)
    documents = {(await desk.done("looms", each)).document for each in made}
    assert documents == {"shed.md", f"{made[1]}/shed.md"}
    assert sorted(each.text for each in await desk.found("looms")) == sorted(texts)
    await desk("ana", "DetachFile", collection="looms", file_id=made[0])
    assert [each.text for each in await desk.found("looms")] == ["Threads two."]
    gone = await refusal(desk, "ana", "GetAttachedFile", collection="looms", file_id=made[0])
    assert isinstance(gone, NotFoundError)
    listed = await desk("ana", "ListAttachedFiles", collection="looms")
    assert [each.file_id for each in listed.files] == made[1:]


async def test_a_file_that_cannot_be_read_fails_with_the_reason(desk: Desk) -> None:
    await desk.collection("ana")
    made = await desk.upload("ana", "shed.pdf", "no PDF")
    await desk("ana", "AttachFile", collection="looms", file_id=made)
    done = await desk.done("looms", made)
    assert done.status == pb.ATTACHMENT_STATUS_FAILED
    assert done.unreadable
    assert "PDF" in done.error


async def test_what_a_stop_interrupts_goes_on_after_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        await desk.collection("ana")
        made = await desk.upload("ana")
        desk.embedder.may.clear()
        await desk("ana", "AttachFile", collection="looms", file_id=made)
        await desk.embedder.asked.wait()
        fields = {"collection": "looms", "file_id": made}
        busy = await desk("ana", "GetAttachedFile", **fields)
        assert busy.file.status == pb.ATTACHMENT_STATUS_IN_PROGRESS
        assert (await refusal(desk, "ana", "UpdateAttachedFile", **fields)).reason == "CONFLICT"
    async with serving(tmp_path) as desk:
        assert (await desk.done("looms", made)).status == pb.ATTACHMENT_STATUS_COMPLETED
        assert [each.text for each in await desk.found("looms")] == ["Threads."]


async def test_attaching_again_counts_however_far_the_first_time_is(desk: Desk) -> None:
    await desk.collection("ana")
    made = await desk.upload("ana")
    desk.embedder.may.clear()
    fields = {"collection": "looms", "file_id": made}
    await desk("ana", "AttachFile", **fields)
    await desk.embedder.asked.wait()
    await asyncio.gather(
        *(desk("ana", "AttachFile", **fields, attributes=to_struct({"n": n})) for n in range(9))
    )
    last = await desk("ana", "AttachFile", **fields, attributes=to_struct({"n": "last"}))
    desk.embedder.may.set()
    done = await desk.done("looms", made)
    assert done.status == pb.ATTACHMENT_STATUS_COMPLETED
    assert done.attributes == last.file.attributes
    [passage] = await desk.found("looms")
    assert passage.metadata["n"] == "last"


async def test_a_file_can_be_taken_out_while_it_is_on_its_way(desk: Desk) -> None:
    await desk.collection("ana")
    made = await desk.upload("ana")
    desk.embedder.may.clear()
    fields = {"collection": "looms", "file_id": made}
    await desk("ana", "AttachFile", **fields)
    await desk.embedder.asked.wait()
    await desk("ana", "DetachFile", **fields)
    desk.embedder.may.set()
    assert await desk.found("looms") == []
    assert not (await desk("ana", "ListAttachedFiles", collection="looms")).files


async def test_a_collection_that_is_made_again_has_no_files(desk: Desk, tmp_path: Path) -> None:
    await desk.collection("ana")
    made = await desk.upload("ana")
    await desk("ana", "AttachFile", collection="looms", file_id=made)
    await desk.done("looms", made)
    await desk("ana", "DeleteCollection", name="looms")
    assert not list((tmp_path / "uploads" / "attached").iterdir())
    await desk.collection("ana")
    assert not (await desk("ana", "ListAttachedFiles", collection="looms")).files


async def test_readers_of_a_collection_see_its_files_and_change_none(desk: Desk) -> None:
    await desk.collection("ana", sharing=knowledge_pb2.SHARING_ORGANIZATION)
    made, other = await desk.upload("ana"), await desk.upload("ben")
    fields = {"collection": "looms", "file_id": made}
    await desk("ana", "AttachFile", **fields)
    await desk.done("looms", made)
    assert len((await desk("ben", "ListAttachedFiles", collection="looms")).files) == 1
    await desk("ben", "GetAttachedFile", **fields)
    attempts = {"AttachFile": other, "UpdateAttachedFile": made, "DetachFile": made}
    for method, identifier in attempts.items():
        asked = {"collection": "looms", "file_id": identifier}
        assert isinstance(await refusal(desk, "ben", method, **asked), PermissionDeniedError)
        assert isinstance(await refusal(desk, "twin", method, **asked), NotFoundError)
    assert isinstance(await refusal(desk, "twin", "GetAttachedFile", **fields), NotFoundError)


@pytest.mark.parametrize(
    "noted", [{"file_id": "x"}, {"a": [1]}, {"a": None}, {"a": "x" * 513}, {"": 1}]
)
async def test_attributes_that_cannot_be_are_refused(desk: Desk, noted: dict[str, Any]) -> None:
    await desk.collection("ana")
    made = await desk.upload("ana")
    fields = {"collection": "looms", "file_id": made, "attributes": to_struct(noted)}
    assert isinstance(await refusal(desk, "ana", "AttachFile", **fields), InvalidRequestError)


async def batch_of(desk: Desk, *files: str) -> str:
    asked = [pb.BatchedFile(file_id=each) for each in files]
    made = await desk("ana", "CreateFileBatch", collection="looms", files=asked)
    return str(made.batch.id)


async def batch(desk: Desk, identifier: str, method: str = "GetFileBatch") -> pb.FileBatch:
    told = await desk("ana", method, collection="looms", batch_id=identifier)
    assert isinstance(told.batch, pb.FileBatch)
    return told.batch


async def test_a_batch_goes_on_after_a_stop_and_its_files_keep_their_order(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as desk:
        await desk.collection("ana")
        files = [await desk.upload("ana", f"{n}.md", f"Threads {n}.") for n in range(5)]
        desk.embedder.may.clear()
        made = await batch_of(desk, *files)
        await desk.embedder.asked.wait()
        assert (await batch(desk, made)).status == pb.FILE_BATCH_STATUS_IN_PROGRESS
    async with serving(tmp_path) as desk:
        for each in files:
            await desk.done("looms", each)
        told = await batch(desk, made)
        assert (told.status, told.completed_count) == (pb.FILE_BATCH_STATUS_COMPLETED, 5)
        assert len(await desk.found("looms")) == 5
        await desk("ana", "DetachFile", collection="looms", file_id=files[0])
        found, token = [], ""
        while True:
            fields = {"collection": "looms", "batch_id": made, "page_size": 3, "page_token": token}
            page = await desk("ana", "ListFileBatchFiles", **fields)
            found += [each.file_id for each in page.files]
            if not (token := page.next_page_token):
                break
        assert found == files[1:]
        assert (await batch(desk, made)).completed_count == 4


async def test_a_cancelled_batch_leaves_what_is_in_and_brings_in_no_more(desk: Desk) -> None:
    await desk.collection("ana")
    files = [await desk.upload("ana", f"{n}.md", f"Threads {n}.") for n in range(4)]
    await desk("ana", "AttachFile", collection="looms", file_id=files[0])
    await desk.done("looms", files[0])
    desk.embedder.may.clear()
    desk.embedder.asked.clear()
    # The first file is there already, with the same content and no attributes.
    made = await batch_of(desk, *files)
    await desk.embedder.asked.wait()
    told = await batch(desk, made, "CancelFileBatch")
    assert told.status == pb.FILE_BATCH_STATUS_CANCELLED
    assert (told.in_progress_count, told.completed_count, told.cancelled_count) == (0, 1, 3)
    desk.embedder.may.set()
    assert await batch(desk, made) == told
    assert [each.text for each in await desk.found("looms")] == ["Threads 0."]
    again = await desk.done("looms", files[3])
    assert again.status == pb.ATTACHMENT_STATUS_CANCELLED
    await desk("ana", "AttachFile", collection="looms", file_id=files[3])
    assert (await desk.done("looms", files[3])).status == pb.ATTACHMENT_STATUS_COMPLETED


async def test_of_a_batch_with_a_file_that_is_not_there_nothing_is_brought_in(desk: Desk) -> None:
    await desk.collection("ana")
    files = [await desk.upload("ana"), await desk.upload("ben")]
    asked = [pb.BatchedFile(file_id=each) for each in files]
    refused = await refusal(desk, "ana", "CreateFileBatch", collection="looms", files=asked)
    assert isinstance(refused, NotFoundError)
    assert not (await desk("ana", "ListAttachedFiles", collection="looms")).files


async def test_a_batch_is_changed_by_who_may_change_the_collection_and_seen_by_who_may_read_it(
    desk: Desk,
) -> None:
    await desk.collection("ana", sharing=knowledge_pb2.SHARING_ORGANIZATION)
    files = await desk.upload("ana")
    fields = {"collection": "looms", "batch_id": await batch_of(desk, files)}
    assert (await desk("ben", "GetFileBatch", **fields)).batch.id == fields["batch_id"]
    assert isinstance(
        await refusal(desk, "ben", "CancelFileBatch", **fields), PermissionDeniedError
    )
    for method in ("GetFileBatch", "CancelFileBatch", "ListFileBatchFiles"):
        assert isinstance(await refusal(desk, "twin", method, **fields), NotFoundError)
        for other in ("vsfb_" + "0" * 32, "../x"):
            missing = {**fields, "batch_id": other}
            assert isinstance(await refusal(desk, "ana", method, **missing), NotFoundError)


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ([], "files"),
        ([{"file_id": "file-a"}, {"file_id": "file-a"}], "files[1].file_id"),
        (
            [{"file_id": "file-a", "attributes": to_struct({"file_id": 1})}],
            "files[0].attributes.file_id",
        ),
    ],
)
async def test_a_batch_that_cannot_be_is_refused(
    desk: Desk, files: list[dict[str, Any]], path: str
) -> None:
    refused = await refusal(desk, "ana", "CreateFileBatch", collection="looms", files=files)
    assert isinstance(refused, InvalidRequestError)
    assert refused.violations[0].field == path
