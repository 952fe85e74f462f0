"""Versions: each save is one, with its author, and can be compared and restored."""

import json
from itertools import product
from typing import Any

import pytest
from assistants.serving import ADA, ADMIN, MODEL, Caller, Service
from assistants.stored import keep
from heddle.assistant.v1 import assistant_pb2, rows_pb2, versions_pb2_grpc
from heddle.assistant.v1 import versions_pb2 as pb
from heddle.assistant.v1.rows_pb2_grpc import RowBatchServiceStub
from heddle_assistants.database.schema import assistant_versions, assistants, originals
from heddle_assistants.versions.differences import text_pieces
from heddle_assistants.versions.retention import Retention, expire
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidRequestError,
    MalformedAssistantError,
    NotFoundError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import func, select, update

BOB = Identity("bob@uni.example", "uni", ("creator",))
CHAIR = Identity("chair@uni.example", "uni", ("organization_admin",))


def stub(caller: Caller) -> Any:
    return versions_pb2_grpc.VersionServiceStub(caller.connection)


async def listed(caller: Caller, number: str, **fields: Any) -> list[pb.AssistantVersion]:
    request = pb.ListVersionsRequest(id=number, **fields)
    return list((await caller.ask(stub(caller).ListVersions, request)).versions)


async def got(caller: Caller, number: str, version: int) -> pb.PastAssistant:
    request = pb.GetVersionRequest(id=number, number=version)
    response: pb.GetVersionResponse = await caller.ask(stub(caller).GetVersion, request)
    return response.past


async def compared(caller: Caller, number: str, one: int, other: int = 0) -> dict[str, Any]:
    """Return the differences: before and after by field."""
    request = pb.CompareVersionsRequest(id=number, from_number=one, to_number=other)
    response = await caller.ask(stub(caller).CompareVersions, request)
    return {
        each.field: (json.loads(each.before_json or "null"), json.loads(each.after_json or "null"))
        for each in response.differences
    }


async def restored(
    caller: Caller, number: str, version: int, etag: str = ""
) -> pb.RestoreVersionResponse:
    request = pb.RestoreVersionRequest(id=number, number=version, etag=etag)
    return await caller.ask(stub(caller).RestoreVersion, request)


async def deleted(caller: Caller, number: str) -> None:
    request = assistant_pb2.DeleteAssistantRequest(id=number)
    await caller.ask(caller.assistants.DeleteAssistant, request)


async def undeleted(caller: Caller, number: str) -> str:
    request = assistant_pb2.UndeleteAssistantRequest(id=number)
    return (await caller.ask(caller.assistants.UndeleteAssistant, request)).etag


async def test_each_save_is_a_version_with_its_author(service: Service) -> None:
    ada, chair = service.as_(ADA), service.as_(CHAIR)
    assistant = (await ada.create("tutor", system_prompt="You help.")).assistant
    number = assistant.id
    assistant.system_prompt = "You teach."
    assistant.tools.append(assistant_pb2.ToolBinding(tool="weather"))
    etag = (await chair.update(assistant)).etag
    await ada.update(assistant)  # changes nothing
    publication = assistant_pb2.PublishAssistantRequest(id=number, published=True)
    await ada.ask(ada.assistants.PublishAssistant, publication)

    publish, edit, create = await listed(ada, number)
    assert [create.number, edit.number, publish.number] == [1, 2, 3]
    assert etag.endswith("-2")
    assert [create.author, edit.author] == [ADA.subject, CHAIR.subject]
    assert [create.action, edit.action, publish.action] == ["create", "update", "publish"]
    assert create.save_time.seconds
    assert list(edit.changed_fields) == ["system_prompt", "tools"]
    assert list(publish.changed_fields) == ["published"]
    assert (await got(ada, number, 1)).assistant.system_prompt == "You help."
    second = await got(ada, number, 2)
    assistant.tools[0].id = "weather"
    assert second.assistant.tools[0].tool == "weather"
    assert not second.published
    assert (await got(ada, number, 3)).published


async def test_versions_are_compared_by_field(service: Service) -> None:
    ada = service.as_(ADA)
    binding = assistant_pb2.ToolBinding
    tools = [
        binding(tool="simple_rag", config=to_struct({"top_k": 3, "collections": ["4"]})),
        binding(tool="weather", slot="w"),
    ]
    assistant = (await ada.create("tutor", system_prompt="You help\nall.", tools=tools)).assistant
    config = to_struct({"top_k": 5, "collections": ["4"]})
    del assistant.tools[:]
    assistant.tools.extend([binding(tool="word_count"), binding(tool="simple_rag", config=config)])
    assistant.system_prompt = "You teach\nall."
    assistant.model.model = "gpt-x"
    await ada.update(assistant)

    differences = await compared(ada, assistant.id, 1, 2)
    assert differences["system_prompt"] == ("You help\nall.", "You teach\nall.")
    assert differences["model.model"] == (MODEL.model, "gpt-x")
    assert differences["tools[1].config.top_k"] == (3, 5)
    assert differences["tools[0]"][0] is None
    assert differences["tools[0]"][1]["type"] == "word_count"
    assert (differences["tools[1]"][0]["slot"], differences["tools[1]"][1]) == ("w", None)
    assert len(differences) == 5
    backwards = await compared(ada, assistant.id, 2, 1)
    assert backwards["model.model"] == ("gpt-x", MODEL.model)
    assert await compared(ada, assistant.id, 2) == {}
    request = pb.CompareVersionsRequest(id=assistant.id, from_number=1)
    response = await ada.ask(stub(ada).CompareVersions, request)
    [prompt] = [each for each in response.differences if each.field == "system_prompt"]
    kinds = [(pb.TextPiece.Kind.Name(each.kind)[5:], each.text) for each in prompt.pieces]
    assert kinds == [
        ("EQUAL", "You "),
        ("REMOVED", "help"),
        ("ADDED", "teach"),
        ("EQUAL", "\nall."),
    ]


async def test_a_restored_version_is_a_new_one(service: Service) -> None:
    ada = service.as_(ADA)
    assistant = (await ada.create("tutor", system_prompt="1")).assistant
    assistant.system_prompt, assistant.name = "2", "teacher"
    stale = (await ada.update(assistant)).etag
    publication = assistant_pb2.PublishAssistantRequest(id=assistant.id, published=True)
    etag = (await ada.ask(ada.assistants.PublishAssistant, publication)).etag
    with pytest.raises(ConflictError):
        await restored(ada, assistant.id, 1, stale)
    response = await restored(ada, assistant.id, 1, etag)

    assert (response.assistant.name, response.assistant.system_prompt) == ("tutor", "1")
    assert response.published
    newest = (await listed(ada, assistant.id))[0]
    assert (newest.number, newest.action, newest.restored_number) == (4, "restore", 1)
    assert list(newest.changed_fields) == ["name", "system_prompt"]
    assert (await restored(ada, assistant.id, 1)).etag == response.etag
    assert len(await listed(ada, assistant.id)) == 4
    await ada.create("teacher")
    with pytest.raises(AlreadyExistsError):
        await restored(ada, assistant.id, 2)


async def test_a_restored_version_does_not_change_the_quota(service: Service) -> None:
    ada, chair = service.as_(ADA), service.as_(CHAIR)
    assistant = (await ada.create("tutor", system_prompt="1")).assistant
    assistant.system_prompt = "2"
    assistant.extra_json = '{"quota": {"enabled": true, "cost_limit_usd": 1}}'
    await chair.update(assistant)
    response = await restored(chair, assistant.id, 1)
    assert response.assistant.system_prompt == "1"
    assert json.loads(response.assistant.extra_json)["quota"]["cost_limit_usd"] == 1


async def test_only_those_who_may_change_it_read_its_versions(service: Service) -> None:
    ada = service.as_(ADA)
    number = (await ada.create("tutor", published=True)).assistant.id
    assert len(await listed(service.as_(ADMIN), number)) == 1
    for caller in (
        service.as_(BOB),
        service.as_(Identity("ada@uni.example", "other", ("creator",))),
    ):
        for request in (
            listed(caller, number),
            got(caller, number, 1),
            compared(caller, number, 1),
        ):
            with pytest.raises(NotFoundError):
                await request
        with pytest.raises(NotFoundError):
            await restored(caller, number, 1)
    with pytest.raises(NotFoundError, match="no version 9"):
        await got(ada, number, 9)
    with pytest.raises(InvalidRequestError):
        await got(ada, number, 0)


async def test_pages_of_versions(service: Service) -> None:
    ada = service.as_(ADA)
    assistant = (await ada.create("tutor")).assistant
    for text in "abcd":
        assistant.description = text
        await ada.update(assistant)
    request = pb.ListVersionsRequest(id=assistant.id, page_size=3)
    first = await ada.ask(stub(ada).ListVersions, request)
    rest = await listed(ada, assistant.id, page_token=first.next_page_token)
    assert [each.number for each in (*first.versions, *rest)] == [5, 4, 3, 2, 1]


async def test_lambs_edits_and_migrations_are_versions(
    service: Service, database: Database
) -> None:
    number = await keep(database)
    ada = service.as_(ADA)
    [first] = await listed(ada, number)
    assert (first.number, first.action, first.author) == (1, "import", "")
    await ada.edit(number, description="New.")
    newest, before = await listed(ada, number)
    assert (before.action, newest.action) == ("import", "update")
    assert list(newest.changed_fields) == ["description"]
    assert set(await compared(ada, number, before.number)) == {"description"}

    other = await keep(database, name="other")
    await ada.get(other)
    assert [each.action for each in await listed(ada, other)] == ["migrate", "import"]
    assert await compared(ada, other, 1) == {}


async def test_batches_of_migrations_and_imports_are_versions(
    service: Service, database: Database
) -> None:
    numbers = [await keep(database, name=f"a{each}") for each in range(3)]
    admin = service.as_(ADMIN)
    await admin.migrate()
    await admin.roll_back()
    for number in numbers:
        actions = [each.action for each in await listed(admin, number)]
        assert actions == ["rollback", "migrate", "import"]
    row = rows_pb2.AssistantRow(
        id="77", name="n", owner="ada@uni.example", organization="uni", created_at=5, updated_at=5
    )
    batch = rows_pb2.RowBatch(assistants=[row])
    rows = RowBatchServiceStub(admin.connection)
    await admin.ask(rows.ImportRows, rows_pb2.ImportRowsRequest(rows=batch))
    [version] = await listed(admin, "77")
    assert (version.action, version.author) == ("import", ADMIN.subject)


async def test_a_malformed_version_is_read_and_not_restored(
    service: Service, database: Database
) -> None:
    number = await keep(database, metadata="{broken")
    ada = service.as_(ADA)
    await ada.update(assistant_pb2.Assistant(id=number, name="1_tutor", model=MODEL))
    assert (await got(ada, number, 1)).malformed_metadata == "{broken"
    with pytest.raises(MalformedAssistantError):
        await restored(ada, number, 1)
    with pytest.raises(MalformedAssistantError):
        await compared(ada, number, 1)


async def test_a_conflict_says_who_saved_it_when(service: Service) -> None:
    ada, chair = service.as_(ADA), service.as_(CHAIR)
    created = await ada.create("tutor")
    created.assistant.description = "New."
    etag = (await chair.update(created.assistant)).etag
    with pytest.raises(ConflictError, match=r"by chair@uni\.example") as conflict:
        await ada.update(created.assistant, created.etag)
    metadata = conflict.value.metadata
    assert (metadata["etag"], metadata["author"]) == (etag, CHAIR.subject)
    assert int(metadata["save_time"]) > 1_700_000_000
    assert await compared(ada, created.assistant.id, int(created.etag.rpartition("-")[2]))


async def test_a_deletion_is_taken_back(service: Service, database: Database) -> None:
    ada, bob = service.as_(ADA), service.as_(BOB)
    created = await ada.create("tutor", system_prompt="1", published=True)
    number = created.assistant.id
    await deleted(ada, number)
    with pytest.raises(NotFoundError):
        await listed(ada, number)
    with pytest.raises(NotFoundError):
        await undeleted(bob, number)
    etag = await undeleted(ada, number)
    response = await ada.get(number)
    assert (response.etag, response.published) == (etag, True)
    assert response.assistant == created.assistant
    assert await undeleted(ada, number) == etag
    actions = [each.action for each in await listed(ada, number)]
    assert actions == ["undelete", "delete", "create"]
    with pytest.raises(NotFoundError):
        await undeleted(bob, number)

    await deleted(ada, number)
    other = (await ada.create("tutor")).assistant.id
    with pytest.raises(AlreadyExistsError):
        await undeleted(ada, number)
    await deleted(ada, other)
    async with database.writing() as connection:
        await connection.execute(update(assistants).values(deleted_at=1))
    with pytest.raises(NotFoundError):
        await undeleted(ada, number)


async def count(database: Database) -> int:
    async with database.reading() as connection:
        query = select(func.count()).select_from(assistant_versions)
        return await connection.scalar(query) or 0


async def test_old_versions_are_deleted_and_the_newest_stays(
    service: Service, database: Database
) -> None:
    ada = service.as_(ADA)
    assistant = (await ada.create("tutor")).assistant
    for text in "abcd":
        assistant.description = text
        await ada.update(assistant)
    await ada.create("other")
    assert await count(database) == 6
    await expire(database, Retention(3, 9, undelete_days=9))
    assert [each.number for each in await listed(ada, assistant.id)] == [5, 4, 3]
    async with database.writing() as connection:
        await connection.execute(update(assistant_versions).values(saved_at=1))
    await expire(database, Retention(3, 9, undelete_days=9))
    assert await count(database) == 2
    assert [each.number for each in await listed(ada, assistant.id)] == [5]
    await deleted(ada, assistant.id)
    async with database.writing() as connection:
        old = update(assistants).where(assistants.c.id == int(assistant.id))
        await connection.execute(old.values(deleted_at=1))
    await expire(database, Retention(3, 9, undelete_days=9))
    assert await count(database) == 1
    async with database.reading() as connection:
        query = select(assistants).where(assistants.c.id == int(assistant.id))
        row = (await connection.execute(query)).mappings().one()
    assert (row["name"], row["metadata"]) == (f"deleted_{assistant.id}", None)


async def test_no_migration_gives_contents_to_an_assistant_that_has_lost_them(
    service: Service, database: Database
) -> None:
    number = await keep(database)
    admin = service.as_(ADMIN)
    await admin.migrate()
    await deleted(service.as_(ADA), number)
    async with database.writing() as connection:
        await connection.execute(update(assistants).values(deleted_at=1))
    await expire(database, Retention(3, 9, undelete_days=9))

    await admin.roll_back()
    last = (await admin.migrate())[-1].progress
    assert (last.changed, last.unchanged) == (0, 1)
    async with database.reading() as connection:
        assert await connection.scalar(select(assistants.c.metadata)) is None
        assert await connection.scalar(select(func.count()).select_from(originals)) == 0
    assert await count(database) == 0


def test_pieces_are_both_texts() -> None:
    texts = ["".join(each) for size in range(4) for each in product("ab \n", repeat=size)]
    for before, after in product(texts, repeat=2):
        pieces = text_pieces(before, after)
        old = [each.text for each in pieces if each.kind != pb.TextPiece.KIND_ADDED]
        new = [each.text for each in pieces if each.kind != pb.TextPiece.KIND_REMOVED]
        assert ("".join(old), "".join(new)) == (before, after)


@pytest.mark.parametrize(
    ("text", "pieces"), [("a " * 1_999, 3), ("a b\n" * 3_999, 3), ("a\n" * 4_001, 2)]
)
def test_long_texts_are_compared_by_lines_or_as_a_whole(text: str, pieces: int) -> None:
    assert len(text_pieces(text + "x", text + "y")) == pieces
