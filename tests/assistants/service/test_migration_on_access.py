"""An assistant is migrated when it is first used, once, and nothing of it is lost."""

import asyncio
import json
from pathlib import Path

import pytest
from assistants.serving import ADA, ADMIN, MODEL, SERVICE, Service, serving
from assistants.stored import LEGACY, TEXT, everything, keep, kept, original
from google.protobuf.json_format import MessageToDict
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_assistants.database.schema import assistants
from heddle_runtime.errors import MalformedAssistantError, NewerFormatError, NotFoundError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import update

GOLDEN = Path(__file__).parents[2] / "golden" / "migration"
ROWS = sorted(path.name.removesuffix(".legacy.json") for path in GOLDEN.glob("*.legacy.json"))
DELETED = ["15_deleted"]
MALFORMED = ["14_not_json"]


async def keep_golden(database: Database, name: str) -> tuple[str, str | None]:
    """Keep a row of LAMB; return its id and its metadata."""
    row = json.loads((GOLDEN / f"{name}.legacy.json").read_text())
    text = row["api_callback"]
    if isinstance(text, dict):
        text = json.dumps(text, indent=1)  # not as we would write it
    same = ("name", "description", "owner", "system_prompt", "prompt_template", "created_at")
    lower = ("RAG_endpoint", "RAG_Top_k", "RAG_collections")
    columns = {key: row[key] for key in same} | {key.lower(): row[key] for key in lower}
    # In an organisation each: their names are not unique.
    return await keep(database, organization=name, metadata=text, **columns), text


async def test_every_row_of_lamb_answers_as_its_golden_assistant_says(
    service: Service, database: Database
) -> None:
    admin = service.as_(ADMIN)
    for name in ROWS:
        number, text = await keep_golden(database, name)
        before = (await kept(database, number))._asdict()
        expected = json.loads((GOLDEN / f"{name}.assistant.json").read_text())
        if name in DELETED:
            with pytest.raises(NotFoundError):
                await admin.get(number)
            continue
        if name in MALFORMED:
            assert (await admin.get(number)).malformed_metadata == text, name
            assert (await kept(database, number))._asdict() == before, name
            continue
        got = MessageToDict((await admin.get(number)).assistant, preserving_proto_field_name=True)
        wanted = expected["contract"] | {"id": number, "organization": name}
        assert got == wanted, name
        after, beside = (await kept(database, number))._asdict(), await original(database, number)
        assert json.loads(after["metadata"]) == expected["metadata"], name
        assert beside is not None
        assert (beside.metadata, beside.migrated) == (text, after["metadata"]), name
        changed = {key for key in after if after[key] != before[key]}
        assert changed == {"metadata", "revision"}, name


@pytest.mark.parametrize("text", [None, "", " ", "null"])
async def test_a_row_without_metadata_is_migrated_and_its_nothing_kept(
    service: Service, database: Database, text: str | None
) -> None:
    number = await keep(database, metadata=text)
    await service.as_(ADA).get(number)
    beside = await original(database, number)
    assert beside is not None
    assert beside.metadata == text


async def test_using_it_again_writes_nothing(service: Service, database: Database) -> None:
    number = await keep(database)
    ada = service.as_(ADA)
    first = await ada.get(number)
    before = await everything(database)
    assert await ada.get(number) == first
    assert (await ada.record(number)).etag == first.etag
    assert await everything(database) == before


@pytest.mark.parametrize("way", ["record", "get by name"])
async def test_every_way_to_use_it_migrates_it(
    service: Service, database: Database, way: str
) -> None:
    number = await keep(database)
    ada = service.as_(ADA)
    if way == "record":
        await ada.record(number)
    else:
        await ada.get("LAMB:1_tutor")
    assert json.loads((await kept(database, number)).metadata)["_format_version"] == 2
    assert await original(database, number)


async def test_after_the_migration_only_the_tools_count(
    service: Service, database: Database
) -> None:
    number = await keep(database)
    ada = service.as_(ADA)
    first = (await ada.get(number)).assistant
    assert first.tools[0].config["collections"] == ["4", "7"]
    await ada.edit(number, rag_endpoint="x")  # any edit that is not about the collections
    assert (await ada.get(number)).assistant.tools == first.tools
    row = await kept(database, number)
    assert (row.rag_top_k, row.rag_collections) == (5, "4, 7")


@pytest.mark.parametrize("text", ["not-json{", "[1]", '{"_format_version": "two"}'])
async def test_malformed_metadata_is_left_alone_until_it_is_repaired(
    service: Service, database: Database, text: str
) -> None:
    number = await keep(database, metadata=text, published=True)
    before = await everything(database)
    ada = service.as_(ADA)
    assert (await ada.get(number)).malformed_metadata == text
    assert (await ada.record(number)).record.metadata_json == text
    with pytest.raises(MalformedAssistantError, match="Send its metadata"):
        await ada.edit(number, description="x")
    user = pb.User(subject=ADA.subject, organization=ADA.organization)
    run = pb.GetAssistantRequest(reference=number, user=user)
    with pytest.raises(MalformedAssistantError):
        await service.as_(SERVICE).ask(ada.assistants.GetAssistant, run)
    assert await everything(database) == before
    repaired = await ada.update(pb.Assistant(id=number, name="1_tutor", model=MODEL))
    assert repaired.assistant.model == MODEL
    beside = await original(database, number)
    assert beside is not None
    assert beside.metadata == text


async def test_a_newer_format_is_refused_and_left_alone(
    service: Service, database: Database
) -> None:
    text, error = '{"_format_version": 9}', NewerFormatError
    number = await keep(database, metadata=text, published=True)
    before = await everything(database)
    ada = service.as_(ADA)
    calls = [
        ada.get(number),
        ada.record(number),
        ada.edit(number, description="x"),
        ada.edit(number, metadata_json="{}"),
        ada.update(pb.Assistant(id=number, name="1_tutor", model=MODEL)),
    ]
    for call in calls:
        with pytest.raises(error, match=f"Assistant {number} cannot be used") as refused:
            await call
        assert text not in str(refused.value)
    assert await everything(database) == before
    # Somebody who may not use it learns nothing of that.
    with pytest.raises(NotFoundError):
        await service.as_(Identity("eve@college.example", "college", ("creator",))).get(number)


async def test_many_at_once_migrate_it_once(
    service: Service, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    number = await keep(database)
    caplog.set_level("INFO", "lamb.migration")
    ada = service.as_(ADA)
    got = await asyncio.gather(*(ada.get(number) for _ in range(50)))
    assert all(each == got[0] for each in got)
    assert len([each for each in caplog.records if each.name == "lamb.migration"]) == 1
    assert (await kept(database, number)).revision == 2


async def test_switched_off_nothing_is_written_and_the_old_columns_count(
    database_url: str, database: Database
) -> None:
    number = await keep(database, published=True)
    removed = await keep(
        database, name="removed", metadata=json.dumps(LEGACY | {"_format_version": 2, "tools": []})
    )
    before = await everything(database)
    async with serving(database_url, migrate=False) as service:
        ada = service.as_(ADA)
        for collections in ("4, 7", "8"):
            assistant = (await ada.get(number)).assistant
            assert assistant.tools[0].config["collections"] == [
                each.strip() for each in collections.split(",")
            ]
            record = (await ada.record(number)).record
            assert json.loads(record.metadata_json)["rag_processor"] == "simple_rag"
            assert record.rag_collections == collections
            assert (await ada.get(removed)).assistant.tools == []
            assert await everything(database) == before
            if collections == "8":
                break
            await _set_collections(database, number, "8")
            before = await everything(database)
        await ada.edit(number, description="new")
    row, beside = await kept(database, number), await original(database, number)
    assert json.loads(row.metadata)["_format_version"] == 2
    assert beside is not None
    assert beside.metadata == TEXT


async def _set_collections(database: Database, number: str, collections: str) -> None:
    async with database.writing() as connection:
        query = update(assistants).where(assistants.c.id == int(number))
        await connection.execute(query.values(rag_collections=collections))
