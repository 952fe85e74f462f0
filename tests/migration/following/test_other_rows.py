"""Organisations, users, shares, publication, rubrics and knowledge bases that change in LAMB."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import sharing_pb2, sharing_pb2_grpc
from heddle_assistants.accounts.secret_members import opened
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.schema import (
    followed_rows,
    knowledge_bases,
    organizations,
    rubrics,
    users,
)
from migration.following.following import PAUSE, Followed, following, small_lamb
from migration.lamb.lamb_database import METERED, PROVIDERS
from migration.lamb.running import KEYS, everything
from runtime.examples import mostly_on
from sqlalchemy import update

pytestmark = mostly_on("dialect", "sqlite", "postgresql")


@pytest.fixture
async def both(database_url: str, tmp_path: Path) -> AsyncIterator[Followed]:
    lamb = small_lamb(tmp_path / "lamb_v4.db")
    lamb.add("rubrics", {"id": 9, "rubric_id": "essay", "rubric_data": "{}"})
    lamb.add("kb_registry", {"id": 2, "kb_id": "17", "kb_name": "Optics"})
    async with following(database_url, lamb) as sides:
        await sides.until_followed("knowledge_bases", 1)
        yield sides


async def sharing(both: Followed) -> sharing_pb2.Sharing:
    stub = sharing_pb2_grpc.SharingServiceStub(both.admin.connection)
    request = sharing_pb2.GetSharingRequest(id="3")
    return (await both.admin.ask(stub.GetSharing, request)).sharing


def settings(row: dict[str, Any], keys: Keys = KEYS) -> dict[str, Any]:
    return opened(json.loads(row["config"]), keys, row["slug"])


async def set_settings(both: Followed, slug: str, **members: Any) -> None:
    request = account_pb2.GetOrganizationRequest(slug=slug)
    stored = await both.admin.ask(both.admin.accounts.GetOrganization, request)
    config = json.loads(stored.organization.settings_json) | members
    organization = account_pb2.Organization(slug=slug, settings_json=json.dumps(config))
    change = account_pb2.PutOrganizationRequest(organization=organization, etag=stored.etag)
    await both.admin.ask(both.admin.accounts.PutOrganization, change)


async def test_a_publication_follows_and_ends(both: Followed) -> None:
    both.lamb.add("assistant_publish", {"assistant_id": 3, "oauth_consumer_name": "course"})
    await both.until_column(3, "oauth_consumer_name", "course")
    assert (await both.stored())[3]["published"]
    both.execute("DELETE FROM LAMB_assistant_publish")
    await both.until(lambda rows: not rows[3]["published"])


async def test_an_upgrade_of_lamb_does_not_stop_the_following(both: Followed) -> None:
    both.execute("ALTER TABLE LAMB_assistants ADD COLUMN theme TEXT")
    both.execute("CREATE TABLE LAMB_themes (id INTEGER PRIMARY KEY, name TEXT)")
    both.execute("CREATE TABLE old_LAMB_assistants AS SELECT * FROM LAMB_assistants")
    both.edit("assistants", 3, system_prompt="After the upgrade.", theme="dark")
    await both.until_column(3, "system_prompt", "After the upgrade.")


async def test_shares_of_lamb_follow_and_those_of_heddle_stay(both: Followed) -> None:
    both.lamb.add("assistant_shares", {"assistant_id": 3, "shared_with_user_id": 2})
    await both.until_column(3, "sharing", "use:bo@example.org")
    stub = sharing_pb2_grpc.SharingServiceStub(both.admin.connection)
    both_users = ["bo@example.org", "cy@example.org"]
    change = sharing_pb2.UpdateSharingRequest(
        id="3", sharing=sharing_pb2.Sharing(users_who_may_use=both_users)
    )
    await both.admin.ask(stub.UpdateSharing, change)
    both.execute("DELETE FROM LAMB_assistant_shares")
    await both.until_column(3, "sharing", "use:cy@example.org")
    assert list((await sharing(both)).users_who_may_use) == ["cy@example.org"]


async def test_a_user_who_is_new_disabled_or_gone_in_lamb_is_so_in_heddle(both: Followed) -> None:
    both.lamb.add("Creator_users", {"id": 5, "user_email": "di@example.org"})
    await both.until(lambda rows: 5 in rows, users)
    both.edit("Creator_users", 2, enabled=0)
    both.execute("DELETE FROM LAMB_Creator_users WHERE id = 5")
    await both.until(lambda rows: not (rows[2]["enabled"] or rows[5]["enabled"]), users)
    assert (await both.stored(users))[1]["enabled"]


async def test_a_user_who_becomes_administrator_in_lamb_is_one_in_heddle(both: Followed) -> None:
    both.lamb.add("organization_roles", {"organization_id": 1, "user_id": 2, "role": "admin"})
    await both.until(lambda rows: rows[2]["role"] == "admin", users)


async def test_a_user_renamed_on_both_sides_has_lambs_name_and_a_note(both: Followed) -> None:
    async with both.database.writing() as connection:
        await connection.execute(update(users).where(users.c.id == 2).values(name="Heddle's"))
    both.edit("Creator_users", 2, user_name="LAMB's")
    await both.until(lambda rows: rows[2]["name"] == "LAMB's", users)
    [note] = (await both.status()).notes
    assert note.row_id == 2
    assert 'name (in Heddle "Heddle\'s")' in note.note


async def test_a_new_organisation_brings_its_users_along(both: Followed) -> None:
    both.lamb.add("organizations", {"id": 8, "slug": "physics", "name": "Physics"})
    both.lamb.add("Creator_users", {"id": 6, "user_email": "ed@example.org", "organization_id": 8})
    await both.until(lambda rows: 6 in rows, users)
    slugs = {row["id"]: row["slug"] for row in (await both.stored(organizations)).values()}
    assert slugs[(await both.stored(users))[6]["organization_id"]] == "physics"


async def test_a_key_that_changes_in_lamb_reaches_the_settings_and_is_stored_encrypted(
    both: Followed,
) -> None:
    await set_settings(both, "lamb", heddles={"own": 1})
    config = {"setups": {"default": {"providers": PROVIDERS}}}
    both.edit("organizations", 1, config=json.dumps(config))
    await both.until(lambda rows: "setups" in rows[1]["config"], organizations)
    row = (await both.stored(organizations))[1]
    assert settings(row) == {**config, "heddles": {"own": 1}}
    stored = await everything(both.database)
    assert "sk-lambs-own" not in str(stored)
    assert all(b"sk-lambs-own" not in row[3] for row in stored[followed_rows.name])


async def test_a_setting_changed_on_both_sides_is_lambs_and_noted(both: Followed) -> None:
    both.edit("organizations", 1, config=json.dumps({"setups": {"model": "a", "other": 1}}))
    await both.until(lambda rows: "setups" in rows[1]["config"], organizations)
    await set_settings(both, "lamb", setups={"model": "heddles", "other": 2})
    both.edit("organizations", 1, config=json.dumps({"setups": {"model": "lambs", "other": 1}}))
    await both.until(lambda rows: "lambs" in rows[1]["config"], organizations)
    assert settings((await both.stored(organizations))[1]) == {
        "setups": {"model": "lambs", "other": 2}
    }
    [note] = (await both.status()).notes
    assert "settings setups.model" in note.note
    assert "other" not in note.note


async def test_prices_and_sums_of_usage_follow(database_url: str, tmp_path: Path) -> None:
    lamb = small_lamb(tmp_path / "metered.db", METERED)
    price = {"provider": "openai", "model_name": "gpt-x", "input_per_1m": 1, "output_per_1m": 2}
    lamb.add("model_pricing", price)
    lamb.add("assistant_usage_totals", {"assistant_id": 3, "prompt_tokens_total": 10})
    async with following(database_url, lamb) as sides:
        await sides.until(lambda rows: 3 in rows)
        await until_cost(sides, 0)
        sides.execute(
            "UPDATE LAMB_assistant_usage_totals SET prompt_tokens_total = 15, cost_usd_total = 2"
        )
        sides.execute("UPDATE LAMB_model_pricing SET output_per_1m = 3")
        await until_cost(sides, 2_000_000)
        await sides.until(lambda rows: '"output": 3' in rows[1]["config"], organizations)
        assert settings((await sides.stored(organizations))[1])["prices"] == {
            "openai/gpt-x": {"input": 1, "output": 3}
        }


async def until_cost(sides: Followed, micros: int) -> None:
    """Wait until LAMB's sums of the assistant are there."""
    while True:
        used = await sides.admin.used("3")
        if used.models and used.cost_micros == micros:
            return


async def test_a_closed_organisation_is_closed(both: Followed) -> None:
    both.edit("organizations", 1, status="suspended")
    await both.until(lambda rows: rows[1]["status"] == "suspended", organizations)


async def test_rubrics_and_knowledge_bases_follow(both: Followed) -> None:
    both.edit("rubrics", 9, rubric_data='{"criteria": []}')
    both.edit("kb_registry", 2, kb_name="Waves", is_shared=1)
    await both.until(lambda rows: rows[9]["rubric_data"] == '{"criteria": []}', rubrics)
    await both.until(
        lambda rows: rows[2]["name"] == "Waves" and rows[2]["is_shared"], knowledge_bases
    )


async def test_a_rubric_that_lamb_deletes_is_deleted_unless_it_changed_in_heddle(
    both: Followed,
) -> None:
    both.lamb.add(
        "rubrics",
        {"id": 10, "rubric_id": "edited", "rubric_data": "{}"},
        {"id": 11, "rubric_id": "other", "rubric_data": "{}"},
    )
    await both.until(lambda rows: {10, 11} <= rows.keys(), rubrics)
    await both.until_followed("rubrics", 3)
    async with both.database.writing() as connection:
        query = update(rubrics).where(rubrics.c.id == 10)
        await connection.execute(query.values(title="Heddle's"))
    both.execute("DELETE FROM LAMB_rubrics WHERE id IN (9, 10)")
    await both.until(lambda rows: 9 not in rows, rubrics)
    assert {10, 11} <= (await both.stored(rubrics)).keys()
    [note] = (await both.status()).notes
    assert (note.row_id, note.note) == (
        10,
        "LAMB deleted it. It stays, because it changed in Heddle.",
    )


async def test_a_row_with_the_id_of_another_one_is_refused_and_follows_when_it_is_free(
    both: Followed,
) -> None:
    both.lamb.add("rubrics", {"id": 12, "rubric_id": "essay_2", "rubric_data": "{}"})
    await both.until_followed("rubrics", 2)
    async with both.database.writing() as connection:
        query = update(rubrics).where(rubrics.c.id == 12)
        await connection.execute(query.values(rubric_id="heddles"))
    both.edit("rubrics", 12, title="LAMB's")
    while not (notes := (await both.status()).notes):
        await asyncio.sleep(PAUSE)
    assert notes[0].refusal == "Heddle has no row with this id and rubric_id."
    async with both.database.writing() as connection:
        query = update(rubrics).where(rubrics.c.id == 12)
        await connection.execute(query.values(rubric_id="essay_2"))
    both.edit("rubrics", 12, title="LAMB's own")
    await both.until(lambda rows: rows[12]["title"] == "LAMB's own", rubrics)
    assert not any(each.refused for each in (await both.status()).tables)
