"""`MigrationService`: everything forth and back, as often as one likes."""

import asyncio
import json
from collections import Counter

import grpc
import pytest
from assistants.serving import ADA, ADMIN, Caller, Service, serving
from assistants.stored import LEGACY, TEXT, everything, keep, keep_many, kept, original
from heddle.assistant.v1.assistant_pb2 import SELECTION_OWN
from heddle.assistant.v1.jobs_pb2 import JOB_KIND_IMPORT, JOB_KIND_SWEEP
from heddle.migration.v1 import migration_pb2 as pb
from heddle_assistants.database.schema import assistants
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    MalformedAssistantError,
    NotFoundError,
    PermissionDeniedError,
    from_status,
)
from heddle_runtime.identity.callers import DEVELOPER, Identity
from heddle_runtime.storage.database.engine import Database
from runtime.examples import mostly_on
from sqlalchemy import func, select

TEXTS = [
    TEXT,
    None,
    "",
    "null",
    '{"rag_processor": "nobody_knows"}',
    "not-json{",
    '{"_format_version": 9}',
]
"""Five that can be migrated, one of them with a note, and two that cannot."""


async def keep_texts(database: Database) -> list[str]:
    return [await keep(database, name=f"a{n}", metadata=text) for n, text in enumerate(TEXTS)]


async def old(database: Database) -> int:
    """Return how many rows are not of the newest format."""
    query = select(func.count()).where(assistants.c.metadata.not_like('%"_format_version": 2%'))
    async with database.reading() as connection:
        return await connection.scalar(query) or 0


def count(progress: pb.Progress) -> tuple[int, int, int, int]:
    return progress.total, progress.changed, progress.unchanged, progress.refused


async def test_everything_is_migrated_once_and_what_cannot_be_is_told(
    service: Service, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lamb.migration")
    ids = await keep_texts(database)
    admin = service.as_(ADMIN)
    *_, last = await admin.migrate()
    assert count(last.progress) == (7, 5, 0, 2)
    findings = {each.id: each for each in last.findings}
    assert set(findings) == set(ids[4:])
    assert "nobody_knows" in findings[ids[4]].notes[0]
    errors = [from_status(findings[each].error) for each in ids[5:]]
    assert [error.reason for error in errors] == ["MALFORMED_ASSISTANT", "NEWER_FORMAT"]
    for number, text in zip(ids, TEXTS, strict=True):
        row, beside = await kept(database, number), await original(database, number)
        if number in ids[5:]:
            assert (row.metadata, row.revision, beside) == (text, 1, None)
            continue
        assert json.loads(row.metadata)["_format_version"] == 2
        assert beside is not None
        assert (beside.metadata, beside.migrated) == (text, row.metadata)
        assert (row.rag_top_k, row.rag_collections, row.revision) == (5, "4, 7", 2)
    logged = [each.__dict__["assistant_id"] for each in caplog.records]
    assert logged == [int(each) for each in ids[:5]]

    before = await everything(database)
    *_, last = await admin.migrate()
    assert count(last.progress) == (7, 0, 5, 2)
    assert await everything(database) == before


async def test_a_dry_run_tells_the_same_and_writes_nothing(
    service: Service, database: Database
) -> None:
    await keep_texts(database)
    before = await everything(database)
    *_, dry = await service.as_(ADMIN).migrate(dry_run=True)
    assert await everything(database) == before
    *_, real = await service.as_(ADMIN).migrate()
    assert dry == real
    before = await everything(database)
    *_, dry_back = await service.as_(ADMIN).roll_back(dry_run=True)
    assert await everything(database) == before
    *_, back = await service.as_(ADMIN).roll_back()
    assert dry_back == back


async def test_a_rollback_gives_every_document_back_byte_for_byte(
    service: Service, database: Database
) -> None:
    ids = await keep_texts(database)
    before = [(await kept(database, each))._asdict() for each in ids]
    admin = service.as_(ADMIN)
    await admin.migrate()
    etag = (await service.as_(ADA).get(ids[0])).etag
    *_, last = await admin.roll_back()
    assert count(last.progress) == (7, 5, 2, 0)
    for number, was in zip(ids, before, strict=True):
        row = (await kept(database, number))._asdict()
        assert await original(database, number) is None
        assert {key for key in row if row[key] != was[key]} <= {"revision"}
    *_, last = await admin.roll_back()
    assert count(last.progress) == (7, 0, 7, 0)
    # What was read before is not what is there, although both are migrated.
    assert (await service.as_(ADA).get(ids[0])).etag != etag


async def test_what_was_edited_since_is_rolled_back_only_on_demand(
    service: Service, database: Database
) -> None:
    edited, renamed = await keep(database, name="a"), await keep(database, name="b")
    admin = service.as_(ADMIN)
    await admin.migrate()
    await service.as_(ADA).edit(edited, metadata_json='{"llm": "gpt-5"}')
    await service.as_(ADA).edit(renamed, name="c")  # which is not what a rollback takes back
    before = await kept(database, edited)
    *_, last = await admin.roll_back()
    assert count(last.progress) == (2, 1, 0, 1)
    [finding] = last.findings
    assert (finding.id, finding.name) == (edited, "a")
    assert (
        from_status(finding.error).message
        == f"The assistant '{edited}' was edited after its migration."
    )
    assert await kept(database, edited) == before
    assert (await kept(database, renamed)).name == "c"

    *_, last = await admin.roll_back(discard_edits=True)
    assert count(last.progress) == (2, 1, 1, 0)
    assert (await kept(database, edited)).metadata == TEXT


async def test_what_was_rolled_back_is_found_by_its_old_title(
    service: Service, database: Database
) -> None:
    text = json.dumps({**LEGACY, "title": "Stars"})
    number = await keep(database, metadata=text)
    admin, ada = service.as_(ADMIN), service.as_(ADA)
    await admin.migrate()
    await ada.edit(number, metadata_json='{"title": "Planets"}')
    await admin.roll_back(discard_edits=True)
    for title, found in (("Stars", 1), ("Planets", 0)):
        assert len(await ada.listed(selection=SELECTION_OWN, text=title)) == found


async def test_only_the_assistants_that_are_named_are_looked_at(
    service: Service, database: Database
) -> None:
    first, second = await keep(database, name="a"), await keep(database, name="b")
    admin = service.as_(ADMIN)
    wanted = [second, second, "77", "guide"]
    [response] = await admin.migrate(ids=wanted)
    assert count(response.progress) == (3, 1, 0, 2)
    assert {each.id for each in response.findings} == {"77", "guide"}
    assert all(from_status(each.error).reason == "NOT_FOUND" for each in response.findings)
    assert (await kept(database, first)).metadata == TEXT
    [back] = await admin.roll_back(ids=[first, second])
    assert count(back.progress) == (2, 1, 1, 0)
    with pytest.raises(InvalidRequestError) as refused:
        await admin.migrate(ids=[str(number) for number in range(1001)])
    assert [violation.field for violation in refused.value.violations] == ["ids"]


async def test_deleted_assistants_are_migrated_too(service: Service, database: Database) -> None:
    number = await keep(database, owner="deleted_assistant@owi.com", deleted_at=1)
    *_, last = await service.as_(ADMIN).migrate()
    assert count(last.progress) == (1, 1, 0, 0)
    assert await original(database, number)


async def test_each_response_counts_what_is_on_disk_by_then(
    service: Service, database: Database
) -> None:
    await keep_many(database, [{"name": f"a{number}"} for number in range(1200)])
    admin = service.as_(ADMIN)
    request = pb.RunMigrationRequest(kind=JOB_KIND_SWEEP)
    seen = []
    stream = admin.migrations.RunMigration(request, timeout=60, metadata=admin.metadata())
    async for response in stream:
        assert 1200 - await old(database) >= response.progress.changed
        seen.append(count(response.progress))
    assert seen == [(1200, 500, 0, 0), (1200, 1000, 0, 0), (1200, 1200, 0, 0)]


@pytest.mark.exhaustive
async def test_large_documents_make_small_batches(service: Service, database: Database) -> None:
    large = json.dumps(LEGACY | {"x": "x" * 3_000_000})
    await keep_many(database, [{"name": f"a{number}", "metadata": large} for number in range(6)])
    responses = await service.as_(ADMIN).migrate()
    assert [each.progress.changed for each in responses] == [2, 4, 6]


async def test_a_sweep_that_is_cut_goes_on_when_it_is_called_again(
    service: Service, database: Database
) -> None:
    await keep_many(database, [{"name": f"a{number}"} for number in range(1200)])
    admin = service.as_(ADMIN)
    request = pb.RunMigrationRequest(kind=JOB_KIND_SWEEP)
    call = admin.migrations.RunMigration(request, timeout=60, metadata=admin.metadata())
    first = await anext(aiter(call))
    call.cancel()
    assert first.progress.changed == 500
    await asyncio.sleep(0.1)
    left = await old(database)
    *_, last = await admin.migrate()
    assert count(last.progress) == (1200, left, 1200 - left, 0)
    assert await old(database) == 0


async def test_nothing_to_look_at_is_told(service: Service) -> None:
    [response] = await service.as_(ADMIN).migrate()
    assert count(response.progress) == (0, 0, 0, 0)


@mostly_on("dialect", "sqlite", "postgresql")
async def test_two_sweeps_and_edits_at_once_migrate_each_row_once(
    service: Service, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lamb.migration")
    await keep_many(database, [{"name": f"a{number}"} for number in range(1000)])
    admin = service.as_(ADMIN)

    async def edit(number: int) -> None:
        await admin.edit(str(number), metadata_json=json.dumps({"quota": {"limit": number}}))

    edited = range(1, 1001, 10)
    await asyncio.gather(admin.migrate(), admin.migrate(), *map(edit, edited))
    logged = Counter(each.__dict__["assistant_id"] for each in caplog.records)
    assert set(logged) == set(range(1, 1001))
    assert set(logged.values()) == {1}
    for number in edited:
        document = json.loads((await kept(database, str(number))).metadata)
        assert (document["_format_version"], document["quota"]) == (2, {"limit": number})
        beside = await original(database, str(number))
        assert beside is not None
        assert beside.metadata == TEXT


async def test_a_row_that_an_operator_put_back_by_hand_is_migrated_again(
    service: Service, database: Database
) -> None:
    number = await keep(database)
    await service.as_(ADMIN).migrate()
    other = json.dumps(LEGACY | {"llm": "gpt-5"})
    async with database.writing() as connection:
        await connection.execute(assistants.update().values(metadata=other))
    assert (await service.as_(ADA).get(number)).assistant.model.model == "gpt-5"
    await service.as_(ADMIN).roll_back()
    assert (await kept(database, number)).metadata == other


async def test_switched_off_nothing_is_migrated_but_can_be_taken_back(
    database_url: str, database: Database
) -> None:
    number = await keep(database)
    async with serving(database_url) as service:
        await service.as_(ADMIN).migrate()
    async with serving(database_url, migrate=False) as service:
        admin = service.as_(ADMIN)
        with pytest.raises(HeddleError, match="HEDDLE_ASSISTANTS_MIGRATE_ON_READ") as refused:
            await admin.migrate()
        assert isinstance(refused.value.__cause__, grpc.aio.AioRpcError)
        assert refused.value.__cause__.code() == grpc.StatusCode.FAILED_PRECONDITION
        *_, dry = await admin.migrate(dry_run=True)
        assert count(dry.progress) == (1, 0, 1, 0)
        await admin.roll_back()
    assert (await kept(database, number)).metadata == TEXT


async def test_a_conversion_is_shown_and_not_kept(service: Service, database: Database) -> None:
    number = await keep(database, metadata='{"rag_processor": "nobody_knows"}')
    before = await everything(database)
    admin = service.as_(ADMIN)
    by_id = await convert(admin, id=number)
    columns = pb.Columns(metadata_json=TEXT, rag_top_k="4", rag_collections="1")
    by_columns = await convert(admin, columns=columns)
    assert await everything(database) == before
    assert (by_id.from_version, by_id.to_version) == (1, 2)
    assert by_id.assistant.name == "1_tutor"
    assert "nobody_knows" in by_id.notes[0]
    [tool] = json.loads(by_columns.metadata_json)["tools"]
    assert tool["config"] == {"collections": ["1"], "top_k": 4}
    assert [each.tool for each in by_columns.assistant.tools] == ["simple_rag"]
    assert (await convert(admin, columns=pb.Columns())).assistant.tools == []


async def test_what_cannot_be_converted_is_told(service: Service, database: Database) -> None:
    number = await keep(database, metadata="not-json{")
    admin = service.as_(ADMIN)
    with pytest.raises(MalformedAssistantError):
        await convert(admin, id=number)
    with pytest.raises(MalformedAssistantError):
        await convert(admin, columns=pb.Columns(metadata_json="[1]"))
    with pytest.raises(NotFoundError):
        await convert(admin, id="77")
    with pytest.raises(InvalidRequestError):
        await convert(admin)


async def test_an_import_needs_a_database_of_lamb(embedded: Service) -> None:
    admin = embedded.as_(ADMIN)
    with pytest.raises(HeddleError, match="HEDDLE_MIGRATION_LAMB_DATABASE"):
        await admin.all_of(
            admin.migrations.RunMigration, pb.RunMigrationRequest(kind=JOB_KIND_IMPORT)
        )


@pytest.mark.parametrize(
    "identity", [ADA, Identity("chair@uni.example", "uni", ("organization_admin", "service"))]
)
async def test_nobody_but_administrators_may(embedded: Service, identity: Identity) -> None:
    caller = embedded.as_(identity)
    imports = caller.all_of(
        caller.migrations.RunMigration, pb.RunMigrationRequest(kind=JOB_KIND_IMPORT)
    )
    for call in (caller.migrate(), caller.roll_back(), convert(caller, id="1"), imports):
        with pytest.raises(PermissionDeniedError):
            await call


async def test_whoever_is_alone_on_a_machine_may(database_url: str, database: Database) -> None:
    await keep(database)
    async with serving(database_url) as service:
        *_, last = await service.as_(DEVELOPER).migrate()
    assert last.progress.changed == 1


async def convert(caller: Caller, **source: object) -> pb.ConvertAssistantResponse:
    request = pb.ConvertAssistantRequest(**source)  # type: ignore[arg-type] # one of two
    return await caller.ask(caller.migrations.ConvertAssistant, request)
