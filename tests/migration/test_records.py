"""`RecordService`: LAMB's own clients edit assistants, and what they do not know survives."""

import asyncio
import hashlib
import json
from typing import Any

import pytest
from assistants.serving import ADA, ADMIN, Caller, Service
from assistants.stored import LEGACY, TEXT, everything, keep, keep_many, kept, original
from heddle.assistant.v1 import assistant_pb2
from heddle.migration.v1 import record_pb2 as pb
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database

REQUIRED = ("prompt_processor", "connector", "llm", "rag_processor")


def metadata(record: pb.Record) -> dict[str, Any]:
    found = json.loads(record.metadata_json)
    assert isinstance(found, dict)
    return found


async def create(caller: Caller, **members: Any) -> pb.CreateRecordResponse:
    request = pb.CreateRecordRequest(record=pb.Record(**members))
    return await caller.ask(caller.records.CreateRecord, request)


async def pages(caller: Caller, size: int) -> list[pb.ListRecordsResponse]:
    request = pb.ListRecordsRequest(page_size=size)
    found = [await caller.ask(caller.records.ListRecords, request)]
    while found[-1].next_page_token:
        request.page_token = found[-1].next_page_token
        found.append(await caller.ask(caller.records.ListRecords, request))
    return found


async def test_a_record_has_the_columns_and_the_keys_of_both_formats(
    service: Service, database: Database
) -> None:
    number = await keep(database, description="Explains.", group_id="g", published=True)
    record = (await service.as_(ADA).record(number)).record
    assert (record.name, record.description, record.owner) == ("1_tutor", "Explains.", ADA.subject)
    assert (record.rag_top_k, record.rag_collections) == ("5", "4, 7")
    assert (record.organization, record.published, record.group_id) == ("uni", True, "g")
    assert record.create_time.seconds == 1_700_000_000
    assert not record.HasField("system_prompt")
    assert all(metadata(record)[key] for key in REQUIRED)
    assert metadata(record)["tools"][0]["config"] == {"collections": ["4", "7"], "top_k": 5}


@pytest.mark.parametrize("text", [TEXT, None, '{"tools": ["weather"], "rag_processor": "No RAG"}'])
async def test_sending_back_what_was_read_changes_nothing(
    service: Service, database: Database, text: str | None
) -> None:
    number = await keep(database, metadata=text)
    ada = service.as_(ADA)
    got = await ada.record(number)
    before = await kept(database, number)
    sent = pb.Record()
    sent.CopyFrom(got.record)
    request = pb.UpdateRecordRequest(id=number, record=sent, etag=got.etag)
    updated = await ada.ask(ada.records.UpdateRecord, request)
    assert updated.etag == got.etag
    assert updated.record == got.record
    assert await kept(database, number) == before


async def test_an_edit_of_the_collections_reaches_the_tool(
    service: Service, database: Database
) -> None:
    number = await keep(database)
    ada = service.as_(ADA)
    record = (await ada.edit(number, rag_collections="9", rag_top_k="7")).record
    assert (record.rag_collections, record.rag_top_k) == ("9", "7")
    row = await kept(database, number)
    assert (row.rag_collections, row.rag_top_k) == ("9", 7)
    config = from_struct((await ada.get(number)).assistant.tools[0].config)
    assert config == {"collections": ["9"], "top_k": 7}


async def test_a_top_k_of_lamb_keeps_its_kind(service: Service, database: Database) -> None:
    number = await keep(database, rag_top_k="3")
    ada = service.as_(ADA)
    await ada.edit(number, rag_top_k="3", description="x")
    assert (await kept(database, number)).rag_top_k == "3"
    await ada.edit(number, rag_top_k="04")
    assert (await kept(database, number)).rag_top_k == "04"


async def test_what_an_edit_does_not_name_stays_and_what_is_null_goes(
    service: Service, database: Database
) -> None:
    text = json.dumps(LEGACY | {"quota": {"enabled": True}, "x": 1, "y": 2})
    number = await keep(database, metadata=text)
    ada = service.as_(ADA)
    await ada.edit(number, metadata_json='{"llm": "gpt-5", "x": null}')
    found = json.loads((await kept(database, number)).metadata)
    assert (found["llm"], found["y"], found["quota"]) == ("gpt-5", 2, {"enabled": True})
    assert "x" not in found
    assert found["tools"][0]["type"] == "simple_rag"


async def test_an_edit_of_a_legacy_row_keeps_its_original(
    service: Service, database: Database
) -> None:
    number = await keep(database)
    await service.as_(ADA).edit(number, description="new")
    beside = await original(database, number)
    assert beside is not None
    assert beside.metadata == TEXT
    assert beside.migrated == (await kept(database, number)).metadata


async def test_an_edit_of_what_changed_meanwhile_is_a_conflict(
    service: Service, database: Database
) -> None:
    number = await keep(database)
    ada = service.as_(ADA)
    etag = (await ada.record(number)).etag
    await ada.edit(number, etag, description="1")
    with pytest.raises(ConflictError, match=f"'{number}'"):
        await ada.edit(number, etag, description="2")
    assert (await kept(database, number)).description == "1"


async def test_edits_of_different_fields_at_once_all_survive(
    service: Service, database: Database
) -> None:
    number = await keep(database)
    ada = service.as_(ADA)
    edits = [
        ada.edit(number, metadata_json=json.dumps({f"quota_{index}": {"enabled": True}}))
        for index in range(20)
    ]
    await asyncio.gather(ada.edit(number, description="new"), *edits)
    row = await kept(database, number)
    found = json.loads(row.metadata)
    assert row.description == "new"
    assert {f"quota_{index}" for index in range(20)} <= found.keys()


async def test_a_new_record_is_kept_in_the_newest_format(
    service: Service, database: Database
) -> None:
    ada = service.as_(ADA)
    made = await create(
        ada,
        name="7_tutor",
        metadata_json=TEXT,
        rag_collections="1,2",
        rag_top_k="4",
        description="",
    )
    row = await kept(database, made.record.id)
    found = json.loads(row.metadata)
    assert (found["_format_version"], "rag_processor" in found) == (2, False)
    assert (row.rag_top_k, row.rag_collections, row.description) == (4, "1,2", "")
    assert row.system_prompt is None
    assert (await ada.record(made.record.id)).record == made.record
    assert (await ada.get(made.record.id)).assistant.tools[0].tool == "simple_rag"
    assert await original(database, made.record.id) is None
    with pytest.raises(AlreadyExistsError):
        await create(ada, name="7_tutor")


@pytest.mark.parametrize(
    "text", ["not-json{", "[1]", '"x"', '{"_format_version": 9}', '{"a": NaN}', "[" * 5000]
)
async def test_malformed_metadata_of_a_request_is_the_requests_fault(
    embedded: Service, text: str
) -> None:
    ada = embedded.as_(ADA)
    made = await create(ada, name="tutor")
    calls = [create(ada, name="other", metadata_json=text), ada.edit("1", metadata_json=text)]
    for call in calls:
        with pytest.raises(InvalidRequestError) as refused:
            await call
        assert [v.field for v in refused.value.violations] == ["record.metadata_json"]
    assert (await ada.record("1")).etag == made.etag


@pytest.mark.parametrize(
    ("member", "value"), [("name", ""), ("name", "my tutor"), ("description", "a\0b")]
)
async def test_a_wrong_column_is_named(embedded: Service, member: str, value: str) -> None:
    ada = embedded.as_(ADA)
    await create(ada, name="tutor")
    for call in (create(ada, **{"name": "other", member: value}), ada.edit("1", **{member: value})):
        with pytest.raises(InvalidRequestError) as refused:
            await call
        assert [v.field for v in refused.value.violations] == [f"record.{member}"]


@pytest.mark.parametrize("owner", ["deleted_assistant@owi.com", "a\0b", "x" * 321])
async def test_nobody_makes_a_record_for_an_owner_who_is_no_user(
    service: Service, owner: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        await create(service.as_(ADMIN), name="tutor", owner=owner)
    assert [v.field for v in refused.value.violations] == ["record.owner"]


async def test_a_name_that_breaks_the_rule_by_now_can_stay(
    service: Service, database: Database
) -> None:
    number = await keep(database, name="1_my tutor")
    ada = service.as_(ADA)
    await ada.edit(number, name="1_my tutor", description="x")
    with pytest.raises(InvalidRequestError):
        await ada.edit(number, name="1_my other tutor")


async def test_a_list_returns_each_row_in_the_format_that_it_is_kept_in(
    service: Service, database: Database
) -> None:
    texts = [TEXT, None, "not-json{", '{"_format_version": 9}']
    for index, text in enumerate(texts):
        await keep(database, name=f"a{index}", metadata=text)
    await create(service.as_(ADA), name="new", metadata_json=TEXT)
    [page] = await pages(service.as_(ADA), 10)
    *old, new = page.records
    assert [each.metadata_json if each.HasField("metadata_json") else None for each in old] == texts
    assert metadata(new)["_format_version"] == 2
    assert metadata(new)["rag_processor"] == "simple_rag"
    assert page.total_size == 5


async def test_lists_migrate_nothing(service: Service, database: Database) -> None:
    rows: list[dict[str, object]] = [{"name": f"a{number}"} for number in range(1000)]
    await keep_many(database, rows)

    async def digest() -> str:
        return hashlib.sha256(repr(await everything(database)).encode()).hexdigest()

    before = await digest()
    found = await pages(service.as_(ADA), 300)
    assert await digest() == before
    assert [len(page.records) for page in found] == [300, 300, 300, 100]
    assert {page.total_size for page in found} == {1000}
    ids = [int(record.id) for page in found for record in page.records]
    assert ids == sorted(set(ids))


@pytest.mark.exhaustive
async def test_a_page_fits_into_a_message(service: Service, database: Database) -> None:
    large = "x" * 3_000_000
    rows: list[dict[str, object]] = [
        {"name": f"a{number}", "system_prompt": large} for number in range(12)
    ]
    await keep_many(database, rows)
    found = await pages(service.as_(ADA), 100)
    assert len(found) > 1
    assert [record.id for page in found for record in page.records] == [
        str(n) for n in range(1, 13)
    ]


async def test_only_what_the_caller_may_change_is_listed(
    service: Service, database: Database
) -> None:
    await keep(database, published=True)
    await keep(database, owner="bob@uni.example", published=True)
    for identity, ids in (
        (ADA, ["1"]),
        (Identity("chair@uni.example", "uni", ("organization_admin",)), ["1", "2"]),
        (ADMIN, ["1", "2"]),
        (Identity("cleo@uni.example", "uni", ("creator",)), []),
    ):
        [page] = await pages(service.as_(identity), 10)
        assert [record.id for record in page.records] == ids
        assert page.total_size == len(ids)


async def test_a_list_begins_as_far_behind_as_the_client_says(
    service: Service, database: Database
) -> None:
    await keep_many(database, [{"name": f"a{number}"} for number in range(7)])
    ada = service.as_(ADA)

    async def listed(**members: Any) -> list[str]:
        request = pb.ListRecordsRequest(page_size=3, **members)
        page = await ada.ask(ada.records.ListRecords, request)
        assert page.total_size == 7
        return [record.id for record in page.records]

    request = pb.ListRecordsRequest(page_size=3)
    token = (await ada.ask(ada.records.ListRecords, request)).next_page_token
    assert await listed(skip=2) == ["3", "4", "5"]
    assert await listed(skip=5) == ["6", "7"]
    assert await listed(skip=1, page_token=token) == ["5", "6", "7"]
    assert await listed(skip=2**31 - 1) == []
    with pytest.raises(InvalidRequestError) as refused:
        await listed(skip=-1)
    assert [v.field for v in refused.value.violations] == ["skip"]


async def test_a_token_of_another_list_is_refused(embedded: Service) -> None:
    ada = embedded.as_(ADA)
    request = pb.ListRecordsRequest(page_token="bWVyY3VyaWFs")
    with pytest.raises(InvalidRequestError) as refused:
        await ada.ask(ada.records.ListRecords, request)
    assert [v.field for v in refused.value.violations] == ["page_token"]


async def test_an_edit_by_a_new_client_shows_in_the_old_view(service: Service) -> None:
    ada = service.as_(ADA)
    made = await create(ada, name="tutor", metadata_json=TEXT, rag_collections="1")
    assistant = (await ada.get(made.record.id)).assistant
    assistant.tools[0].config["collections"] = ["2", "3"]
    assistant.tools.append(
        assistant_pb2.ToolBinding(tool="weather", mode=assistant_pb2.MODE_FUNCTION)
    )
    await ada.update(assistant)
    record = (await ada.record(made.record.id)).record
    assert record.rag_collections == "2,3"
    # The old client saves what it saw, with another model; the new tool survives.
    edited = metadata(record) | {"llm": "gpt-5"}
    await ada.edit(record.id, metadata_json=json.dumps(edited), rag_collections="2,3")
    got = (await ada.get(record.id)).assistant
    assert [tool.tool for tool in got.tools] == ["simple_rag", "weather"]
    assert got.model.model == "gpt-5"


async def test_a_record_that_is_not_there_is_not_changed(embedded: Service) -> None:
    with pytest.raises(NotFoundError):
        await embedded.as_(ADA).edit("1", description="x")
