"""`/assistants/{id}/sharing` and `/assistants/{id}/owner`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from gateway.library import TUTOR, Library, library


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Library]:
    """A gateway with its defaults."""
    async with library(tmp_path) as running:
        yield running


async def test_an_assistant_is_shared_for_use_and_for_editing(shelf: Library) -> None:
    ana, ben = shelf["ana"], shelf["ben"]
    created = await ana.post("/assistants", json=TUTOR)
    number = created.json()["id"]
    path = f"/assistants/{number}/sharing"
    body = {"visibility": "private", "users_who_may_use": ["ben@example.org"]}
    stale = {"if-match": f'"{number}-9"'}
    assert (await ana.put(path, json=body, headers=stale)).status_code == 409
    response = await ana.put(path, json=body, headers={"if-match": created.headers["etag"]})
    assert response.json() == {
        **body,
        "users_who_may_edit": [],
        "owner": "ana@example.org",
        "unknown_users": ["ben@example.org"],
    }
    assert (await ana.get(path)).headers["etag"] == response.headers["etag"]
    seen = (await ben.get(f"/assistants/{number}")).json()
    assert "system_prompt" not in seen
    shared = (await ben.get("/assistants?selection=shared")).json()["assistants"]
    assert [each["id"] for each in shared] == [number]
    assert (await ana.get("/assistants?selection=shared")).json()["assistants"] == []
    models = (await ben.get("/v1/models")).json()["data"]
    assert [each["id"] for each in models] == [f"lamb_assistant.{number}"]
    assert (await ben.get(f"/assistants/{number}/export")).status_code == 404

    editing = {"visibility": "private", "users_who_may_edit": ["ben@example.org"]}
    await ana.put(path, json=editing)
    read = await ben.get(f"/assistants/{number}")
    assert read.json()["system_prompt"] == "You help."
    edited = await ben.put(f"/assistants/{number}", json=read.json() | {"title": "By Ben"})
    assert edited.status_code == 200, edited.text
    assert (await ben.get(f"/assistants/{number}/export")).status_code == 200
    lamb = (await ben.get(f"/creator/assistant/get_assistant/{number}")).json()
    assert (lamb["access_level"], lamb["is_owner"]) == ("full", False)
    assert (await ben.put(path, json=editing)).status_code == 403
    assert (await ben.delete(f"/assistants/{number}")).status_code == 403
    wrong = await ana.put(path, json={"visibility": "moon"})
    assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "visibility")
    wrong = await ana.put(path, json={"visibility": "private", "users_who_may_use": ["ben"]})
    assert wrong.json()["error"]["param"] == "users_who_may_use[0]"


async def test_an_administrator_hands_an_assistant_over(shelf: Library) -> None:
    root, ana = shelf["root"], shelf["ana"]
    number = (await ana.post("/assistants", json=TUTOR)).json()["id"]
    path = f"/assistants/{number}/owner"
    body = {"owner": "ben@example.org"}
    assert (await shelf["ben"].post(path, json=body)).status_code == 404
    assert (await ana.post(path, json={"owner": "new@example.org"})).status_code == 400
    response = await root.post(path, json=body)
    assert response.status_code == 200, response.text
    assert response.json()["owner"] == "ben@example.org"
    assert (await ana.get(f"/assistants/{number}")).status_code == 404
