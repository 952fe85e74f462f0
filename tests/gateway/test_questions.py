"""`/assistants/{id}/questions`: authors save questions, in their order and within limits."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from gateway.library import TUTOR, Library, library


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Library]:
    """A gateway with its defaults."""
    async with library(tmp_path) as running:
        yield running


async def test_questions_are_saved_replaced_and_deleted(shelf: Library) -> None:
    ana, ben = shelf["ana"], shelf["ben"]
    created = await ana.post("/assistants", json=TUTOR)
    number = created.json()["id"]
    path = f"/assistants/{number}/questions"
    empty = await ana.get(path)
    assert empty.json() == {"questions": []}
    body = {
        "questions": [
            {"title": "B", "text": "Why?", "expected": "Because.\nSo."},
            {"title": "A", "text": "What?", "expected": ""},
        ]
    }
    saved = await ana.put(path, json=body, headers={"if-match": empty.headers["etag"]})
    assert (saved.status_code, saved.json()) == (200, body)
    read = await shelf["head"].get(path)
    assert (read.json(), read.headers["etag"]) == (body, saved.headers["etag"])
    stale = {"if-match": empty.headers["etag"]}
    assert (await ana.put(path, json={"questions": []}, headers=stale)).status_code == 409
    assert (await ana.put(path, json=body)).headers["etag"] == saved.headers["etag"]
    assert (await ana.get(f"/assistants/{number}")).headers["etag"] == created.headers["etag"]
    assert (await ben.get(path)).status_code == 404
    assert (await ben.put(path, json=body)).status_code == 404
    assert (await ben.delete(path)).status_code == 404
    sharing = {"visibility": "private", "users_who_may_edit": ["ben@example.org"]}
    await ana.put(f"/assistants/{number}/sharing", json=sharing)
    assert (await ben.get(path)).json() == body
    assert (await ana.delete(path)).json() == {"id": number, "deleted": True}
    assert (await ana.get(path)).json() == {"questions": []}


async def test_wrong_questions_are_refused_with_their_place(shelf: Library) -> None:
    ana = shelf["ana"]
    number = (await ana.post("/assistants", json=TUTOR)).json()["id"]
    wrong = [
        {"text": "ok"},
        {"text": " "},
        {"title": "x" * 201, "text": "ok"},
        {"text": "ok", "expected": "x" * 10_001},
    ]
    response = await ana.put(f"/assistants/{number}/questions", json={"questions": wrong})
    assert response.status_code == 400
    fields = [each["field"] for each in response.json()["error"]["violations"]]
    assert fields == ["questions[1].text", "questions[2].title", "questions[3].expected"]
