"""A person of whom everything is erased: nothing is left in any file or table."""

import asyncio
import io
import json
import sqlite3
import time
import zipfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from assistants.postgres import postgres
from integration.commands import heddle
from integration.people.installation import BEA, MODEL, Installation, fill
from integration.people.personal_data_page import named, places
from integration.people.traces import tables_with, traces
from integration.whole import whole

SECRET = "a-secret-of-at-least-32-characters"
KEYS = {
    "HEDDLE_IDENTITY_SECRET": SECRET,
    "HEDDLE_ASSISTANTS_KEY_PEPPER": f"{SECRET}-pepper",
    "HEDDLE_ASSISTANTS_ENCRYPTION_KEY": f"{SECRET}-encryption",
}
OF_BEA = ("loom number", "sk-of-uni")
"""What is a colleague's or the organisation's."""
OTHER = {"name": "tutor_of_others", "model": MODEL}
COUNTS = {
    "users": 1,
    "passwords": 1,
    "sessions": 1,
    "api_keys": 1,
    "assistants": 2,
    "saved_questions": 1,
    "assistant_users": 1,
    "rubrics": 1,
    "prompts": 1,
    "conversations": 1,
    "responses": 1,
    "conversation_items": 2,
    "conversation_owners": 1,
    "jobs": 1,
    "job_findings": 1,
    "followed_rows": 1,
    "private_collections": 1,
    "shared_collections": 1,
    "uploads": 4,
    "files_in_collections_of_others": 1,
    "generated_images": 1,
    "workspaces": 1,
}


@asynccontextmanager
async def installed(
    folder: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Installation]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    url = database or f"sqlite:///{folder}/heddle.db"
    async with whole(folder, database=database) as running:
        it = Installation(folder, running.url, running.stack)
        await fill(it, url)
        yield it


def path_of(it: Installation, rest: str = "") -> str:
    return f"/organizations/uni/people/{it.email}{rest}"


async def counts(it: Installation) -> dict[str, int]:
    async with it.client() as operator:
        response = await operator.get(path_of(it))
    assert response.status_code == 200, response.text
    return {each["place"]: each["count"] for each in response.json()["places"]}


async def erase(it: Installation, **body: str) -> dict[str, int]:
    async with it.client() as operator:
        response = await operator.post(path_of(it, "/erasure"), json=body)
    assert response.status_code == 200, response.text
    return {each["place"]: each["count"] for each in response.json()["places"]}


@pytest.mark.exhaustive
async def test_nothing_of_an_erased_person_is_left_in_any_file_and_all_places_are_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with installed(tmp_path, "", monkeypatch) as it:
        before = await counts(it)
        assert {name: before[name] for name in COUNTS} == COUNTS
        places_in_use = places(tmp_path)
        assert places_in_use - named() == set(), "say on the page what these have of people"
        assert len(places_in_use) > 25
        found = "\n".join(traces(tmp_path, it.canary))
        for place in ("heddle.db", "knowledge/uploads", "images", "workspaces", ".state", "chunks"):
            assert place in found, f"the test sees nothing of {place}:\n{found}"

        erased = await erase(it, shared_things="delete")

        assert {name: erased[name] for name in COUNTS} == COUNTS
        assert traces(tmp_path, it.canary) == []
        assert not any((await counts(it)).values())
        assert not any((await erase(it, shared_things="delete")).values())
        await nobody_else_lost_anything(it)
        await the_audit_log_is_valid(it)
    assert traces(tmp_path, it.canary) == []


async def loses_access(client: httpx.AsyncClient) -> None:
    end = time.monotonic() + 5  # gateways know a key for two seconds
    while (await client.get("/assistants")).status_code != 401:
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


async def nobody_else_lost_anything(it: Installation) -> None:
    async with it.client(it.bea_key) as bea, it.client(it.key) as ana:
        await loses_access(ana)
        assert (await bea.get(f"/assistants/{it.bea_assistant}")).json()["name"] == "helper"
        (store,) = (await bea.get("/v1/vector_stores")).json()["data"]
        assert store["file_counts"]["completed"] == 30
        search = await bea.post(
            f"/v1/vector_stores/{store['id']}/search", json={"query": "loom number 7"}
        )
        assert "loom number 7" in search.text


async def the_audit_log_is_valid(it: Installation) -> None:
    async with it.client() as operator:
        events = (await operator.get("/audit", params={"page_size": 1000})).json()["events"]
    actors = {each["actor"]["subject"] for each in events}
    (pseudonym,) = [each for each in actors if each.startswith("erased-")]
    erasure = next(each for each in events if each["action"] == "person.erase")
    assert erasure["object_id"] == pseudonym
    created = [each for each in events if each["action"] == "assistant.create"]
    names = {change["name"] for each in created for change in each["changes"]}
    assert "system_prompt" in names  # which fields changed is still known


@pytest.mark.exhaustive
async def test_shared_things_get_another_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with installed(tmp_path, "", monkeypatch) as it:
        async with it.client() as operator:
            body = {"shared_things": "hand_over", "new_owner": "nobody@uni.example"}
            refused = await operator.post(path_of(it, "/erasure"), json=body)
            assert refused.status_code == 400
            assert refused.json()["error"]["param"] == "new_owner", refused.text
        assert (await counts(it))["users"] == 1  # nothing has happened

        await erase(it, shared_things="hand_over", new_owner=BEA)

        assert not any((await counts(it)).values())
        async with it.client(it.bea_key) as bea:
            assistant = (await bea.get(f"/assistants/{it.assistant}")).json()
            assert assistant["owner"] == BEA
            assert assistant["system_prompt"] == f"Be {it.canary}."
            stores = {each["id"] for each in (await bea.get("/v1/vector_stores")).json()["data"]}
            assert it.shared_store in stores
            file = await bea.get(f"/v1/vector_stores/{it.shared_store}/files/{it.lecture}/content")
            assert f"The weaver {it.canary}" in file.text
            assert (await bea.get(f"/v1/files/{it.lecture}")).status_code == 200
            versions = await bea.get(f"/assistants/{it.assistant}/versions")
            assert it.email not in versions.text
        assert traces(tmp_path, it.email) == []


@pytest.mark.exhaustive
async def test_an_export_has_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with installed(tmp_path, "", monkeypatch) as it:
        before = await counts(it)
        async with it.client() as operator:
            response = await operator.get(path_of(it, "/export"))
        after = await counts(it)  # services record their events a moment after the change
        assert response.headers["content-type"] == "application/zip"
        archive = zipfile.ZipFile(io.BytesIO(response.content))
        files = {name: archive.read(name) for name in archive.namelist()}
        for place, count in before.items():
            tables = files.get(f"assistants/{place}.json")
            if count and tables is not None:
                rows: list[Any] = json.loads(tables)
                assert count <= len(rows) <= after[place], place
        names = set(files)
        assert "knowledge/uploads.json" in names
        assert any(name.startswith("connector/generated_images/") for name in names)
        assert f"tools/workspaces/{it.canary}.txt" in names
        assert f"knowledge/collections/{it.private_store}/collection.json" in names
        text = b"".join(files.values())
        assert f"The weaver {it.canary} opened the shed".encode() in text
        assert b"argon2" not in text
        assert b"digest" not in files["assistants/api_keys.json"]


@pytest.mark.exhaustive
async def test_no_table_of_postgresql_has_anything_of_an_erased_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        postgres(wheel="pgserver") as server,
        server.database() as url,
        server.database() as store,
    ):
        monkeypatch.setenv("HEDDLE_KNOWLEDGE_STORE_URL", store)
        async with installed(tmp_path, url, monkeypatch) as it:
            known = await tables_with(url, it.canary) + await tables_with(store, it.canary)
            assert {"public.users", "public.audit_events", "heddle_knowledge.uploads"} < {*known}

            await erase(it, shared_things="delete")

            assert await tables_with(url, it.canary) == []
            assert await tables_with(store, it.canary) == []
            assert traces(tmp_path, it.canary) == []

            for each in (url, store):
                assert await tables_with(each, BEA, *OF_BEA)

            await delete_organization(it)

            assert await tables_with(store, BEA, *OF_BEA) == []
            assert await tables_with(url, BEA, *OF_BEA) == []


async def delete_organization(it: Installation) -> None:
    """Delete the organisation by the command of the operator."""
    names = ("assistants", "knowledge", "connector", "tools")
    addresses = {f"HEDDLE_{name.upper()}_ADDRESS": getattr(it.stack, name) for name in names}
    for command in ("organizations delete uni --yes", "audit verify"):
        ended = await asyncio.to_thread(heddle, *command.split(), environment=addresses)
        assert ended.returncode == 0, ended.stderr


@pytest.mark.exhaustive
async def test_a_deleted_organization_leaves_nothing_but_pseudonyms_in_the_audit_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with installed(tmp_path, "", monkeypatch) as it:
        async with it.client() as operator:
            settings = {"providers": {"openai": {"api_key": "sk-of-uni", "enabled": True}}}
            body = {"name": "University", "settings": settings}
            assert (
                await operator.put("/organizations/uni?allow_failing_providers=true", json=body)
            ).is_success
            assert (await operator.post("/assistants", json=OTHER)).is_success

        for each in (it.canary, BEA, OF_BEA[0]):
            assert traces(tmp_path, each), f"the test sees nothing of {each}"

        await delete_organization(it)

        assert traces(tmp_path, it.canary, BEA, *OF_BEA) == []
        assert not (tmp_path / "images" / "uni").exists()
        assert not (tmp_path / "workspaces" / "uni").exists()
        with closing(sqlite3.connect(tmp_path / "heddle.db")) as database:
            assert [*database.execute("SELECT slug FROM organizations")] == [("default",)]
            assert [*database.execute("SELECT name FROM assistants")] == [(OTHER["name"],)]
        async with it.client(it.bea_key) as bea:
            await loses_access(bea)
        async with it.client() as operator:
            assert (await operator.get("/organizations/uni")).status_code == 404
            events = (await operator.get("/audit", params={"page_size": 1000})).json()["events"]
        last = next(each for each in events if each["action"] == "organization.delete")
        assert last["object_id"] == "uni"
