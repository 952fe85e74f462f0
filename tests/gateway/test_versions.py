"""`/assistants/{id}/versions`, conflicts and deletions, before the real service of assistants."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from gateway.library import TUTOR, Library, library


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Library]:
    """A gateway with its defaults."""
    async with library(tmp_path) as running:
        yield running


async def edited(client: httpx.AsyncClient, number: str, **members: object) -> httpx.Response:
    response = await client.put(f"/assistants/{number}", json=TUTOR | members)
    assert response.status_code == 200, response.text
    return response


async def test_versions_are_listed_read_compared_and_restored(shelf: Library) -> None:
    ana = shelf["ana"]
    number = (await ana.post("/assistants", json=TUTOR)).json()["id"]
    path = f"/assistants/{number}/versions"
    before = (await ana.get(f"/assistants/{number}")).json()
    changed = await edited(shelf["head"], number, system_prompt="You teach.")

    page = (await ana.get(path)).json()
    newest, oldest = page["versions"]
    assert changed.headers["etag"] == f'"{number}-{newest["number"]}"'
    assert newest["author"] == "head@example.org"
    assert newest["changed_fields"] == ["system_prompt"]
    assert (oldest["action"], oldest["changed_fields"]) == ("create", [])
    assert page["next_page_token"] == ""
    short = (await ana.get(path, params={"page_size": 1})).json()
    token = short["next_page_token"]
    assert (await ana.get(path, params={"page_token": token})).json()["versions"] == [oldest]

    version = (await ana.get(f"{path}/1")).json()
    whole = {name: value for name, value in before.items() if name not in ("warnings", "read_only")}
    assert version == {**oldest, "assistant": whole}
    [difference] = (await ana.get(f"{path}/1/diff", params={"to": 2})).json()["differences"]
    assert difference == {
        "field": "system_prompt",
        "kind": "changed",
        "before": "You help.",
        "after": "You teach.",
        "pieces": [
            {"kind": "equal", "text": "You "},
            {"kind": "removed", "text": "help"},
            {"kind": "added", "text": "teach"},
            {"kind": "equal", "text": "."},
        ],
    }
    stale = await ana.post(f"{path}/1/restore", headers={"if-match": f'"{number}-1"'})
    assert stale.status_code == 409
    restored = await ana.post(f"{path}/1/restore", headers={"if-match": f'"{number}-2"'})
    assert restored.json()["system_prompt"] == "You help."
    assert restored.headers["etag"] == f'"{number}-3"'
    assert (await ana.get(path)).json()["versions"][0]["restored_number"] == 1
    for wrong in ("9", "0", "x", "1" * 30):
        assert (await ana.get(f"{path}/{wrong}")).status_code == 404
    assert (await shelf["ben"].get(path)).status_code == 404


async def test_a_conflict_names_the_current_version_and_its_author(shelf: Library) -> None:
    ana = shelf["ana"]
    created = await ana.post("/assistants", json=TUTOR)
    number = created.json()["id"]
    changed = await edited(shelf["head"], number, title="New")
    headers = {"if-match": created.headers["etag"]}
    response = await ana.put(f"/assistants/{number}", json=TUTOR | {"title": "x"}, headers=headers)
    assert response.status_code == 409
    assert response.headers["etag"] == changed.headers["etag"]
    conflict = response.json()["error"]["conflict"]
    assert conflict["etag"] == changed.headers["etag"].strip('"')
    assert conflict["author"] == "head@example.org"
    assert conflict["save_time"] > 1_700_000_000
    refused = await ana.delete(f"/assistants/{number}", headers=headers)
    assert refused.json()["error"]["conflict"] == conflict


async def test_a_deletion_is_taken_back(shelf: Library) -> None:
    ana = shelf["ana"]
    number = (await ana.post("/assistants", json=TUTOR)).json()["id"]
    before = (await ana.get(f"/assistants/{number}")).json()
    await ana.delete(f"/assistants/{number}")
    assert (await ana.get(f"/assistants/{number}")).status_code == 404
    assert (await shelf["ben"].post(f"/assistants/{number}/undelete")).status_code == 404
    response = await ana.post(f"/assistants/{number}/undelete")
    assert (response.status_code, response.json()) == (200, before)
