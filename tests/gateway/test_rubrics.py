"""`/rubrics`, before the real service that keeps them."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from assistants.stored import keep_rubric
from gateway.essays import EXAMPLE as ESSAY
from gateway.library import Library, library
from gateway.shelves import ON_SHARED_LOOP

BODY = {"content": ESSAY, "public": True}


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Library]:
    """A gateway with its defaults."""
    async with library(tmp_path) as running:
        yield running


async def made(shelf: Library, **changes: Any) -> str:
    """Make a rubric of Ana's and return its path."""
    response = await shelf["ana"].post("/rubrics", json={**BODY, **changes})
    assert response.status_code == 201, response.text
    return response.headers["location"]


async def test_what_is_made_is_what_is_read(shelf: Library) -> None:
    response = await shelf["ana"].post("/rubrics", json=BODY)
    assert response.status_code == 201
    path = response.headers["location"]
    found = await shelf["ana"].get(path)
    assert found.json() == response.json()
    assert found.headers["etag"] == response.headers["etag"]
    told = found.json()
    assert path == f"/rubrics/{told['id']}"
    assert (told["owner"], told["organization"]) == ("ana@example.org", "uni")
    assert (told["title"], told["description"]) == (ESSAY["title"], ESSAY["description"])
    assert told["public"]
    assert told["created"] == told["updated"] > 1_700_000_000
    assert {name: told["content"][name] for name in ESSAY} == ESSAY
    assert told["content"]["rubricId"] == told["id"]


async def test_what_is_read_can_be_sent_back_and_changes_nothing(shelf: Library) -> None:
    path = await made(shelf)
    before = await shelf["ana"].get(path)
    condition = {"if-match": before.headers["etag"]}
    response = await shelf["ana"].put(path, content=before.content, headers=condition)
    assert response.status_code == 200, response.text
    assert response.json() == before.json()
    assert response.headers["etag"] == before.headers["etag"]


async def test_an_edit_of_what_somebody_else_changed_is_refused(shelf: Library) -> None:
    path = await made(shelf)
    etag = (await shelf["ana"].get(path)).headers["etag"]
    theirs = {"content": {**ESSAY, "title": "Theirs"}}
    assert (await shelf["head"].put(path, json=theirs)).status_code == 200
    condition = {"if-match": etag}
    refused = await shelf["ana"].put(path, json=BODY, headers=condition)
    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "conflict"
    assert (await shelf["ana"].delete(path, headers=condition)).status_code == 409
    assert (await shelf["ana"].get(path)).json()["title"] == "Theirs"
    gone = await shelf["ana"].delete(path)
    assert gone.json() == {"id": path.rpartition("/")[2], "deleted": True}
    assert (await shelf["ana"].get(path)).status_code == 404


async def test_everybody_sees_what_the_rules_say(shelf: Library) -> None:
    public, private = await made(shelf), await made(shelf, public=False)
    both = [path.rpartition("/")[2] for path in (public, private)]
    seen = {"ana": both, "ben": both[:1], "head": both, "eve": [], "root": both}
    for person, ids in seen.items():
        listed = (await shelf[person].get("/rubrics")).json()
        assert [each["id"] for each in listed["rubrics"]] == ids
        assert listed["next_page_token"] == ""
        own = (await shelf[person].get("/rubrics?selection=own")).json()["rubrics"]
        assert [each["id"] for each in own] == (both if person == "ana" else [])
        for path, identifier in zip((public, private), both, strict=True):
            status = (await shelf[person].get(path)).status_code
            assert status == (200 if identifier in ids else 404)
            if person in ("ben", "eve"):
                assert (await shelf[person].put(path, json=BODY)).status_code == 404
                assert (await shelf[person].delete(path)).status_code == 404


async def test_a_list_is_read_page_by_page_and_without_contents(shelf: Library) -> None:
    paths = [await made(shelf) for _ in range(3)]
    first = (await shelf["ana"].get("/rubrics?page_size=2")).json()
    query = {"page_size": 2, "page_token": first["next_page_token"]}
    second = (await shelf["ana"].get("/rubrics", params=query)).json()
    found = first["rubrics"] + second["rubrics"]
    assert [f"/rubrics/{each['id']}" for each in found] == paths
    assert not any("content" in each for each in found)
    assert second["next_page_token"] == ""


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        (
            '{"criteria": [], "big": 12345678901234567890}',
            '{"criteria":[],"big":12345678901234567890}',
        ),
        ("not json", "null"),
        ("[]", "null"),
        ('{"a": NaN}', "null"),
    ],
)
async def test_a_rubric_of_lambs_is_shown_as_it_is_or_not_at_all(
    shelf: Library, kept: str, shown: str
) -> None:
    await keep_rubric(
        shelf.database, "rubric-550e8400", owner_email="ana@example.org", rubric_data=kept
    )
    response = await shelf["ana"].get("/rubrics/rubric-550e8400")
    assert response.status_code == 200
    assert response.text.replace(" ", "").endswith(f'"content":{shown}}}')


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "content"),
        ({"content": []}, "content"),
        ({"content": {**ESSAY, "maxScore": 0}}, "content.maxScore"),
        ({"content": {**ESSAY, "maxScore": "10"}}, "content.maxScore"),
        ({"content": ESSAY, "public": "yes"}, "public"),
        ({"content": ESSAY, "owner": 5}, "owner"),
        ({"content": ESSAY, "owner": "a\0"}, "owner"),
        ({"content": ESSAY, "is_public": True}, "is_public"),
    ],
)
@ON_SHARED_LOOP
async def test_a_wrong_body_is_named(
    shared_shelf: Library, body: dict[str, Any], param: str
) -> None:
    path = await made(shared_shelf)
    for response in (
        await shared_shelf["ana"].post("/rubrics", json=body),
        await shared_shelf["ana"].put(path, json=body),
    ):
        assert response.status_code == 400, response.text
        assert response.json()["error"]["param"] == param


async def test_what_is_wrong_in_the_content_is_told(shelf: Library) -> None:
    content = json.loads(json.dumps(ESSAY))
    del content["criteria"][0]["levels"][0]["score"]
    response = await shelf["ana"].post("/rubrics", json={"content": content})
    assert "content.criteria[0].levels[0].score: is required" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("page_size=0", "page_size"),
        ("page_token=YWJj", "page_token"),
        ("selection=all", "selection"),
    ],
)
@ON_SHARED_LOOP
async def test_a_wrong_query_is_named(shared_shelf: Library, query: str, param: str) -> None:
    response = await shared_shelf["ana"].get(f"/rubrics?{query}")
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


async def test_a_body_is_about_the_rubric_of_its_path(shelf: Library) -> None:
    path = await made(shelf)
    response = await shelf["ana"].put(path, json={**BODY, "id": "another"})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "id"
