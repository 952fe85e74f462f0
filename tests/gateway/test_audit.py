"""`GET /audit`, before the real service that keeps the audit log."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from gateway.library import TUTOR, Library, library


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Library]:
    """A gateway with its defaults."""
    async with library(tmp_path) as running:
        yield running


async def test_an_administrator_reads_the_events_of_the_own_organisation(shelf: Library) -> None:
    for person in ("ana", "eve"):
        response = await shelf[person].post("/assistants", json=TUTOR)
        assert response.status_code == 201, response.text
    page = (await shelf["head"].get("/audit")).json()
    [event] = page["events"]
    assert page["next_page_token"] == ""
    assert event["actor"] == {
        "subject": "ana@example.org",
        "organization": "uni",
        "scopes": ["creator"],
        "client_user": "",
        "key_id": "file:1",
    }
    assert (event["action"], event["outcome"], event["number"]) == ("assistant.create", "done", 1)
    assert {"name": "name", "before": None, "after": "biology"} in event["changes"]
    assert {"name": "system_prompt", "before": None, "after": None} in event["changes"]
    assert len((await shelf["root"].get("/audit")).json()["events"]) == 2


async def test_others_read_nothing(shelf: Library) -> None:
    response = await shelf["ana"].get("/audit")
    assert (response.status_code, response.json()["error"]["message"]) == (
        403,
        "Only administrators may read the audit log.",
    )


async def test_pages_and_filters(shelf: Library) -> None:
    for number in range(3):
        await shelf["ana"].post("/assistants", json=TUTOR | {"name": f"a{number}"})
    first = (await shelf["head"].get("/audit", params={"page_size": 2})).json()
    token = first["next_page_token"]
    rest = (await shelf["head"].get("/audit", params={"page_token": token})).json()
    assert [each["number"] for each in (*first["events"], *rest["events"])] == [3, 2, 1]
    time = first["events"][0]["time"]
    none = ({"subject": "x"}, {"object_type": "user"}, {"object_id": "9"}, {"since": time + 1})
    for query in (*none, {"until": 0}, {"organization": "college"}):
        assert (await shelf["head"].get("/audit", params=query)).json()["events"] == []
    all_events = {"subject": "ana@example.org", "since": 0, "until": time + 1}
    assert len((await shelf["head"].get("/audit", params=all_events)).json()["events"]) == 3
    for query in ({"since": -1}, {"page_token": "x"}, {"until": 10**12}):
        assert (await shelf["head"].get("/audit", params=query)).status_code == 400
