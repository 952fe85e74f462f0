"""Assistants that change in LAMB, in Heddle, and on both sides."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.migration.v1 import record_pb2
from heddle_assistants.versions.retention import Retention, expire
from heddle_conversion.identifiers import DELETED_OWNER
from migration.following.following import (
    METADATA,
    PAUSE,
    TUTOR,
    Followed,
    following,
    small_lamb,
)


@pytest.fixture
async def both(database_url: str, tmp_path: Path) -> AsyncIterator[Followed]:
    async with following(database_url, small_lamb(tmp_path / "lamb_v4.db")) as sides:
        await sides.until_followed("assistants", 1)
        yield sides


@pytest.mark.alone
async def test_a_prompt_that_changes_in_lamb_is_in_heddle_within_two_seconds(
    both: Followed,
) -> None:
    both.edit("assistants", 3, system_prompt="Be exact.")
    assert await both.until_column(3, "system_prompt", "Be exact.") < 2


@pytest.mark.alone
async def test_two_edits_of_one_length_in_one_moment_both_arrive(both: Followed) -> None:
    for prompt in ("Be exact!", "Be quick!", "Be exact?", "Be quick?"):
        both.edit("assistants", 3, system_prompt=prompt)
    assert await both.until_column(3, "system_prompt", "Be quick?") < 2


async def test_a_new_assistant_arrives_and_answers_by_its_lamb_name(both: Followed) -> None:
    both.lamb.add("assistants", {**TUTOR, "id": 4, "name": "1_other"})
    await both.until(lambda rows: 4 in rows)
    assert (await both.assistant(4)).name == "1_other"


async def test_an_assistant_that_lamb_deletes_is_deleted(both: Followed) -> None:
    deleted = {"owner": DELETED_OWNER, "name": "1_tutor_deleted_1700000100"}
    both.edit("assistants", 3, **deleted)
    await both.until_column(3, "deleted_at", 1_700_000_100)


async def test_an_assistant_whose_row_is_gone_is_deleted_and_comes_back_with_it(
    both: Followed,
) -> None:
    both.lamb.add("assistants", {**TUTOR, "id": 4, "name": "1_other"})
    await both.until(lambda rows: 4 in rows)
    both.execute('DELETE FROM "LAMB_assistants" WHERE id = 4')
    await both.until_column(4, "owner", DELETED_OWNER)
    both.lamb.add("assistants", {**TUTOR, "id": 4, "name": "1_other"})
    await both.until_column(4, "name", "1_other")
    row = (await both.stored())[4]
    assert (row["owner"], row["deleted_at"]) == ("ana@example.org", None)
    assert [each.note for each in await both.versions(4)] == [""] * 3


async def test_an_assistant_that_comes_back_after_its_contents_were_removed_has_them_again(
    both: Followed,
) -> None:
    lamb = {"owner": "ana@example.org", "name": "1_tutor"}
    before = (await both.stored())[3]
    both.edit("assistants", 3, owner=DELETED_OWNER, name="1_tutor_deleted_1700000100")
    await both.until_column(3, "deleted_at", 1_700_000_100)
    await expire(both.database, Retention(count=9, days=9, undelete_days=9))
    assert not (await both.stored())[3]["system_prompt"]

    both.edit("assistants", 3, **lamb)
    await both.until_column(3, "deleted_at", None)
    after = (await both.stored())[3]
    names = ("description", "system_prompt", "prompt_template", "name", "owner", "sharing")
    assert [after[name] for name in names] == [before[name] for name in names]
    assert json.loads(after["metadata"])["llm"] == METADATA["llm"]
    assert (await both.versions(3))[0].note == ""


async def test_a_table_that_was_emptied_deletes_nothing_and_is_reported(both: Followed) -> None:
    both.execute('DELETE FROM "LAMB_assistants"')
    while not (status := await both.status()).report.problem:
        await asyncio.sleep(PAUSE)
    assert "are gone" in status.report.problem
    assert (await both.stored())[3]["owner"] == "ana@example.org"


async def test_the_last_rubric_can_be_deleted_in_lamb(both: Followed) -> None:
    both.execute('DELETE FROM "LAMB_rubrics"')
    both.edit("assistants", 3, name="1_renamed")
    await both.until(lambda rows: rows[3]["name"] == "1_renamed")
    assert not (await both.status()).report.problem


async def test_a_tool_added_in_heddle_stays_when_lamb_changes_the_model(both: Followed) -> None:
    await both.assistant(3)
    await both.add_tool(3)
    both.edit("assistants", 3, api_callback=json.dumps({**METADATA, "llm": "gpt-5"}))
    await both.until(lambda rows: "gpt-5" in rows[3]["metadata"])
    assistant = await both.assistant(3)
    assert [tool.tool for tool in assistant.tools] == ["simple_rag", "calculator"]
    assert assistant.model.model == "gpt-5"
    newest = (await both.versions(3))[0]
    assert (newest.action, newest.note) == ("follow", "")
    assert newest.changed_fields == ["model.model"]


async def test_collections_that_change_in_lamb_reach_the_tool(both: Followed) -> None:
    await both.assistant(3)
    await both.add_tool(3)
    both.edit("assistants", 3, RAG_collections="7", RAG_Top_k=5)
    await both.until(lambda rows: '"7"' in rows[3]["metadata"])
    config = (await both.assistant(3)).tools[0].config
    assert (list(config.get_or_create_list("collections")), config["top_k"]) == (["7"], 5)


async def test_of_a_field_changed_on_both_sides_lamb_wins_and_a_note_names_the_version(
    both: Followed,
) -> None:
    await both.change(3, system_prompt="Heddle's", description="Heddle's")
    edited = (await both.versions(3))[0].number
    both.edit("assistants", 3, system_prompt="LAMB's")
    await both.until_column(3, "system_prompt", "LAMB's")
    assert (await both.stored())[3]["description"] == "Heddle's"
    newest, before = (await both.versions(3))[:2]
    assert newest.note == (
        "Changed in LAMB and in Heddle: system_prompt. LAMB's values apply; version "
        f"{edited} has the others."
    )
    assert (before.number, before.note) == (edited, "")
    [note] = (await both.status()).notes
    assert (note.row_id, note.note) == (3, newest.note)


async def test_a_model_changed_on_both_sides_is_lambs_and_noted(both: Followed) -> None:
    await both.change(3, metadata_json='{"llm": "heddles"}')
    both.edit("assistants", 3, api_callback=json.dumps({**METADATA, "llm": "lambs"}))
    await both.until(lambda rows: "lambs" in rows[3]["metadata"])
    assert "model.model" in (await both.versions(3))[0].note


async def test_an_assistant_deleted_in_heddle_and_edited_in_lamb_is_back(both: Followed) -> None:
    request = assistant_pb2.DeleteAssistantRequest(id="3")
    await both.admin.ask(both.admin.assistants.DeleteAssistant, request)
    both.edit("assistants", 3, system_prompt="Still here.")
    await both.until_column(3, "name", "1_tutor")
    assert "deletion" in (await both.versions(3))[0].note


async def test_two_assistants_that_exchange_their_names_do_so_in_heddle(both: Followed) -> None:
    both.lamb.add("assistants", {**TUTOR, "id": 4, "name": "1_other"})
    await both.until(lambda rows: 4 in rows)
    with both.lamb.open() as connection:
        for number, name in ((3, "x"), (4, "1_tutor"), (3, "1_other")):
            connection.execute('UPDATE "LAMB_assistants" SET name = ? WHERE id = ?', (name, number))
        connection.commit()
    await both.until(lambda rows: (rows[3]["name"], rows[4]["name"]) == ("1_other", "1_tutor"))


async def test_an_assistant_created_in_heddle_gets_an_id_that_lamb_never_assigns(
    both: Followed,
) -> None:
    record = record_pb2.Record(name="mine", metadata_json="{}")
    request = record_pb2.CreateRecordRequest(record=record)
    response = await both.admin.ask(both.admin.records.CreateRecord, request)
    assert int(response.record.id) == 1_000_000_000_001
    both.lamb.add("assistants", {**TUTOR, "id": 4, "name": "1_other"})
    await both.until(lambda rows: 4 in rows)
    response = await both.admin.ask(
        both.admin.records.CreateRecord,
        record_pb2.CreateRecordRequest(record=record_pb2.Record(name="b", metadata_json="{}")),
    )
    assert int(response.record.id) == 1_000_000_000_002
