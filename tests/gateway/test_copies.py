"""`POST /assistants/{id}/copy`: examples and what they know, for those whom they are meant for."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway.shelves import Shelves, shelves

TUTOR = """
_format_version: 2
id: "1"
name: tutor
title: Tutor
icon: "🎓"
system_prompt: You help with looms.
model: {connector: openai, model: gpt-x}
tools: [{type: simple_rag, config: {collections: [looms]}}]
"""
FILES = {"example.yaml": f"{TUTOR}example: true\n", "closed.yaml": TUTOR.replace('"1"', '"2"')}
PEOPLE: dict[str, dict[str, Any]] = {
    "mia": {"subject": "mia@example.org", "organization": "uni"},
    "key": {"subject": "key:1", "organization": "uni", "scopes": ["creator"]},
}


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelves]:
    for name, text in FILES.items():
        changed = text.replace("name: tutor", "name: closed") if name == "closed.yaml" else text
        (tmp_path / name).write_text(changed)
    async with shelves(tmp_path, more_people=PEOPLE) as running:
        yield running


async def filled(shelf: Shelves, sharing: str, *names: str) -> str:
    """Make the operator's collection of the example and return its identifier."""
    root = shelf.openai["root"]
    store = await root.vector_stores.create(name="looms", extra_body={"sharing": sharing})
    for name in names:
        file = await root.files.create(file=(name, b"A shed is a gap."), purpose="assistants")
        files = root.vector_stores.files
        await files.create_and_poll(file.id, vector_store_id=store.id, attributes={"term": "one"})
    return str(store.id)


async def copied(shelf: Shelves, person: str, **body: Any) -> tuple[int, dict[str, Any]]:
    response = await shelf[person].post("/assistants/file-1/copy", json=body)
    return response.status_code, response.json()


def collections(assistant: dict[str, Any]) -> list[str]:
    ids: list[str] = assistant["tools"][0]["config"]["collections"]
    return ids


async def settled(shelf: Shelves, person: str, store: str) -> list[dict[str, Any]]:
    """Return the files of a collection when all are ingested."""
    while True:
        response = await shelf[person].get(f"/v1/vector_stores/{store}/files")
        files: list[dict[str, Any]] = response.json()["data"]
        if all(each["status"] != "in_progress" for each in files):
            return files
        await asyncio.sleep(0.05)


async def test_a_copy_is_the_caller_s_and_outlives_the_original(shelf: Shelves) -> None:
    original = await filled(shelf, "everyone", "sheds.md", "reeds.md")
    model = {"connector": "local", "model": "small"}
    status, copy = await copied(shelf, "eve", title="Weaving", model=model)
    assert status == 201, copy
    assert (copy["name"], copy["title"], copy["icon"]) == ("tutor_2", "Weaving", "🎓")
    assert (copy["owner"], copy["organization"]) == ("eve@example.com", "college")
    assert (copy["model"], copy["published"], copy["read_only"]) == (model, False, False)
    assert copy["system_prompt"] == "You help with looms."
    (store,) = collections(copy)
    assert store != original
    await shelf["root"].delete(f"/v1/vector_stores/{original}")
    for file in (await shelf["root"].get("/v1/files")).json()["data"]:
        await shelf["root"].delete(f"/v1/files/{file['id']}")
    files = await settled(shelf, "eve", store)
    assert {each["filename"] for each in files} == {"sheds.md", "reeds.md"}
    assert all(each["attributes"] == {"term": "one"} for each in files)
    assert all(each["status"] == "completed" for each in files)
    own = (await shelf["eve"].get(f"/v1/vector_stores/{store}")).json()
    assert (own["owner"], own["sharing"], own["editable"]) == ("eve@example.com", "private", True)
    assert (await shelf["ana"].get(f"/v1/vector_stores/{store}")).status_code == 404
    again = (await copied(shelf, "eve"))[1]
    assert (again["name"], again["title"]) == ("tutor_3", "Tutor")


@pytest.mark.parametrize("sharing", ["private", "organization"])
async def test_documents_that_the_caller_may_not_read_stay_where_they_are(
    shelf: Shelves, sharing: str
) -> None:
    await filled(shelf, sharing, "sheds.md")
    status, copy = await copied(shelf, "eve")
    assert status == 201
    assert collections(copy) == []
    (warning,) = [each for each in copy["warnings"] if each["field"].startswith("tools[0].config")]
    assert "no collection 'looms' that you may read" in warning["description"]
    assert (await shelf["eve"].get("/v1/files")).json()["data"] == []
    assert (await shelf["eve"].get("/v1/vector_stores")).json()["data"] == []


async def test_documents_without_files_are_searched_where_they_are(shelf: Shelves) -> None:
    original = await filled(shelf, "everyone", "sheds.md")
    (collection,) = (await shelf.store.collections.all()).values()
    async for _ in shelf.store.documents.ingest(collection.id, "reeds.md", b"A reed spaces."):
        pass
    copy = (await copied(shelf, "ana"))[1]
    assert collections(copy) == [original]
    assert any("searches the original" in each["description"] for each in copy["warnings"])


REFUSED = {
    "a member": ("mia", "file-1", 403),
    "an assistant that is none": ("ana", "file-9", 404),
    "an assistant that is no example": ("ana", "file-2", 404),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_refused_copy_leaves_nothing(shelf: Shelves, case: str) -> None:
    person, identifier, status = REFUSED[case]
    await filled(shelf, "everyone", "sheds.md")
    response = await shelf[person].post(f"/assistants/{identifier}/copy", json={})
    assert response.status_code == status, response.text
    assert (await shelf[person].get("/v1/files")).json()["data"] == []


async def test_a_copy_that_cannot_be_stored_leaves_neither_collections_nor_files(
    shelf: Shelves,
) -> None:
    await filled(shelf, "everyone", "sheds.md")
    response = await shelf["key"].post("/assistants/file-1/copy", json={})
    assert response.status_code == 403, response.text
    assert (await shelf["key"].get("/v1/files")).json()["data"] == []
    stores = (await shelf["key"].get("/v1/vector_stores")).json()["data"]
    assert [each["owner"] for each in stores] == [""]


async def test_examples_are_listed_and_read_by_all_who_may_use_them(shelf: Shelves) -> None:
    for person in ("ana", "eve", "mia", "root"):
        query = {"selection": "examples"}
        listed = (await shelf[person].get("/assistants", params=query)).json()["assistants"]
        assert [each["id"] for each in listed] == ["file-1"]
        read = (await shelf[person].get("/assistants/file-1")).json()
        assert read["system_prompt"] == "You help with looms."
    assert "system_prompt" not in (await shelf["ana"].get("/assistants/file-2")).json()
