"""`/assistants`, before the real service that keeps them."""

import json
from pathlib import Path
from typing import Any

import pytest
from gateway.library import METADATA, TUTOR, Library, library
from gateway.shelves import ON_SHARED_LOOP


async def made(shelf: Library, **changes: Any) -> str:
    """Make an assistant of Ana's and return its path."""
    response = await shelf["ana"].post("/assistants", json={**TUTOR, **changes})
    assert response.status_code == 201, response.text
    return response.headers["location"]


async def test_what_is_made_is_what_is_read(shelf: Library) -> None:
    response = await shelf["ana"].post("/assistants", json=TUTOR)
    assert response.status_code == 201
    path = response.headers["location"]
    found = await shelf["ana"].get(path)
    assert found.headers["etag"] == response.headers["etag"]
    told = found.json()
    assert {key: told[key] for key in TUTOR if key not in ("tools", "capabilities")} == {
        key: TUTOR[key] for key in TUTOR if key not in ("tools", "capabilities")
    }
    assert told["capabilities"] == {"vision": True, "image_generation": False}
    assert told["tools"] == [
        {**TUTOR["tools"][0], "enabled": True},
        {**TUTOR["tools"][1], "slot": "", "config": {}},
    ]
    assert (told["owner"], told["organization"]) == ("ana@example.org", "uni")
    assert (told["_format_version"], told["published"]) == (2, False)
    assert not response.json()["read_only"]
    assert path == f"/assistants/{told['id']}"
    assert {**told, "warnings": response.json()["warnings"]} == response.json()


async def test_what_cannot_be_checked_is_told(shelf: Library) -> None:
    response = await shelf["ana"].post("/assistants", json=TUTOR)
    assert response.json()["warnings"] == [
        {"field": "assistant", "description": "not checked: the orchestrator cannot be reached"}
    ]


async def test_an_assistant_that_did_not_change_is_not_sent_again(shelf: Library) -> None:
    created = await shelf["ana"].post("/assistants", json=TUTOR)
    path, etag = created.headers["location"], created.headers["etag"]
    unchanged = await shelf["ana"].get(path, headers={"if-none-match": etag})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert unchanged.headers["etag"] == etag
    await shelf["ana"].put(path, json={**TUTOR, "title": "Another"})
    changed = await shelf["ana"].get(path, headers={"if-none-match": etag})
    assert changed.json()["title"] == "Another"


async def test_what_is_read_can_be_sent_back_and_changes_nothing(shelf: Library) -> None:
    path = await made(shelf)
    before = await shelf["ana"].get(path)
    row = await shelf.stored(int(path.rpartition("/")[2]))
    etag = before.headers["etag"]
    response = await shelf["ana"].put(path, content=before.content, headers={"if-match": etag})
    assert response.status_code == 200, response.text
    assert response.headers["etag"] == etag
    assert await shelf.stored(row["id"]) == row
    assert (await shelf["ana"].get(path)).json() == before.json()


async def test_an_edit_of_what_somebody_else_changed_is_refused(shelf: Library) -> None:
    path = await made(shelf)
    read = await shelf["ana"].get(path)
    etag = read.headers["etag"]
    mine = {**read.json(), "title": "Mine"}
    theirs = {**read.json(), "title": "Theirs"}
    first = await shelf["head"].put(path, json=theirs, headers={"if-match": etag})
    assert first.headers["etag"] != etag
    second = await shelf["ana"].put(path, json=mine, headers={"if-match": etag})
    assert second.status_code == 409
    assert second.json()["error"]["code"] == "conflict"
    assert path.rpartition("/")[2] in second.json()["error"]["message"]
    assert second.headers["x-should-retry"] == "false"
    assert (await shelf["ana"].get(path)).json()["title"] == "Theirs"
    gone = await shelf["ana"].delete(path, headers={"if-match": etag})
    assert gone.status_code == 409
    for anything in ({"if-match": "*"}, {}, {"if-match": f"W/{first.headers['etag']}"}):
        await shelf["ana"].put(path, json=theirs)
        assert (await shelf["ana"].put(path, json=theirs, headers=anything)).status_code == 200


@pytest.mark.parametrize("etag", ["", '""', "W/", "abc", '"1-1", "1-2"', "*"])
@ON_SHARED_LOOP
async def test_a_condition_changes_nothing_unless_it_holds(
    shared_shelf: Library, etag: str
) -> None:
    path = await made(shared_shelf)
    read = await shared_shelf["ana"].get(path)
    body = {**read.json(), "title": "New"}
    response = await shared_shelf["ana"].put(path, json=body, headers={"if-match": etag})
    holds = etag == "*"
    assert response.status_code == (200 if holds else 409)
    found = await shared_shelf["ana"].get(path)
    assert (found.headers["etag"] != read.headers["etag"]) is holds


async def test_a_condition_without_its_quotes_is_understood(shelf: Library) -> None:
    path = await made(shelf)
    read = await shelf["ana"].get(path)
    etag = read.headers["etag"].strip('"')
    response = await shelf["ana"].put(path, content=read.content, headers={"if-match": etag})
    assert response.status_code == 200


async def test_an_update_empties_what_it_leaves_out_but_the_quota(shelf: Library) -> None:
    path = await made(shelf)
    bare = {"name": "biology", "model": {"connector": "bypass", "model": "simple-bypass"}}
    told = (await shelf["ana"].put(path, json=bare)).json()
    assert (told["title"], told["tools"], told["verbose"]) == ("", [], False)
    assert told["extra"] == {"quota": METADATA["quota"]}  # an author cannot remove it
    assert told["owner"] == "ana@example.org"
    told = (await shelf["head"].put(path, json=bare)).json()
    assert "quota" not in told["extra"]


async def test_an_assistant_of_lambs_is_migrated_when_it_is_read(shelf: Library) -> None:
    number = await shelf.legacy()
    told = (await shelf["ana"].get(f"/assistants/{number}")).json()
    assert told["model"] == {"connector": "openai", "model": "gpt-4o-mini"}
    assert told["tools"] == [
        {
            "id": "simple_rag",
            "type": "simple_rag",
            "mode": "augment",
            "enabled": True,
            "slot": "context",
            "config": {"collections": ["4", "7"], "top_k": 5},
        }
    ]
    assert told["extra"]["quota"] == METADATA["quota"]
    kept = json.loads((await shelf.stored(number))["metadata"])
    assert kept["_format_version"] == 2
    assert kept["tools"][0]["config"]["collections"] == ["4", "7"]


async def test_a_list_migrates_nothing(shelf: Library) -> None:
    number = await shelf.legacy(published=True)
    before = await shelf.stored(number)
    listed = (await shelf["ben"].get("/assistants")).json()
    assert [each["format_version"] for each in listed["assistants"]] == [1]
    assert await shelf.stored(number) == before


async def test_any_update_is_kept_in_the_new_format(shelf: Library) -> None:
    number = await shelf.legacy()
    body = {"name": "7_tutor", "model": {"connector": "openai", "model": "gpt-x"}}
    assert (await shelf["ana"].put(f"/assistants/{number}", json=body)).status_code == 200
    kept = json.loads((await shelf.stored(number))["metadata"])
    assert (kept["_format_version"], kept["llm"]) == (2, "gpt-x")


async def test_models_are_the_published_assistants_that_are_not_deleted(shelf: Library) -> None:
    published = await shelf.legacy(published=True)
    deleted = await shelf.legacy(name="deleted", published=True)
    await shelf.legacy(name="draft")
    assert (await shelf["ana"].delete(f"/assistants/{deleted}")).is_success
    for person in ("ana", "ben", "head"):
        models = (await shelf[person].get("/v1/models")).json()["data"]
        assert [model["id"] for model in models] == [f"lamb_assistant.{published}"]


@pytest.mark.parametrize("connector", ["bypass", "no_such_connector"])
async def test_lists_offer_none_for_debugging_and_none_that_is_not_set_up(
    shelf: Library, connector: str
) -> None:
    await made(shelf, model={"connector": connector, "model": "any"}, published=True)
    assert (await shelf["ana"].get("/v1/models")).json()["data"] == []
    for person in ("ana", "ben"):
        assert (await shelf[person].get("/assistants")).json()["assistants"] == []
    assert (await shelf["mia"].get("/assistants?selection=all")).json()["assistants"] == []
    own = (await shelf["ana"].get("/assistants?selection=own")).json()["assistants"]
    assert len(own) == 1


async def test_lists_come_in_pages_and_can_be_narrowed(shelf: Library) -> None:
    for number in range(5):
        await made(shelf, name=f"tutor_{number}", title=f"Tutor {number}", published=number < 3)
    first = (await shelf["ben"].get("/assistants", params={"page_size": 2})).json()
    assert [each["name"] for each in first["assistants"]] == ["tutor_0", "tutor_1"]
    token = first["next_page_token"]
    rest = await shelf["ben"].get("/assistants", params={"page_size": 2, "page_token": token})
    assert [each["name"] for each in rest.json()["assistants"]] == ["tutor_2"]
    assert rest.json()["next_page_token"] == ""
    own = (await shelf["ana"].get("/assistants", params={"selection": "own"})).json()
    assert len(own["assistants"]) == 5
    found = (await shelf["head"].get("/assistants?selection=managed&text=tUtOr%203")).json()
    assert [each["title"] for each in found["assistants"]] == ["Tutor 3"]
    assert (await shelf["eve"].get("/assistants?selection=managed")).json()["assistants"] == []


async def test_the_body_cannot_mean_another_assistant_than_the_path(shelf: Library) -> None:
    path = await made(shelf)
    response = await shelf["ana"].put(path, json={**TUTOR, "id": "99"})
    assert (response.status_code, response.json()["error"]["param"]) == (400, "id")


async def test_a_taken_name_is_refused(shelf: Library) -> None:
    await made(shelf)
    response = await shelf["ana"].post("/assistants", json=TUTOR)
    assert (response.status_code, response.json()["error"]["code"]) == (409, "already_exists")


async def test_publishing_lets_the_organisation_in(shelf: Library) -> None:
    path = await made(shelf)
    assert (await shelf["ben"].get(path)).status_code == 404
    response = await shelf["ana"].put(f"{path}/publish", json={"published": True})
    assert response.json() == {"id": path.rpartition("/")[2], "published": True}
    found = await shelf["ben"].get(path)
    assert (found.status_code, found.json()["published"]) == (200, True)
    assert found.headers["etag"] == response.headers["etag"]
    saved = await shelf["ana"].put(path, json=TUTOR)
    assert saved.json()["published"] is True
    await shelf["ana"].put(f"{path}/publish", json={"published": False})
    assert (await shelf["ben"].get(path)).status_code == 404


async def test_what_is_deleted_is_gone_and_its_name_is_free(shelf: Library) -> None:
    path = await made(shelf)
    response = await shelf["ana"].delete(path)
    assert response.json() == {"id": path.rpartition("/")[2], "deleted": True}
    assert (await shelf["ana"].get(path)).status_code == 404
    assert (await shelf["ana"].delete(path)).status_code == 404
    assert await made(shelf) != path


async def test_an_export_can_be_imported_with_its_tools(shelf: Library) -> None:
    path = await made(shelf)
    export = await shelf["ana"].get(f"{path}/export")
    number = path.rpartition("/")[2]
    disposition = f'attachment; filename="assistant_{number}.json"'
    assert export.headers["content-disposition"] == disposition
    assert "ana@example.org" not in export.text
    response = await shelf["eve"].post(
        "/assistants/import", content=export.content, params={"name": "copy"}
    )
    assert response.status_code == 201, response.text
    copy, original = response.json(), (await shelf["ana"].get(path)).json()
    assert (copy["name"], copy["owner"]) == ("copy", "eve@example.com")
    assert copy["published"] is False
    for key in ("tools", "model", "system_prompt", "prompt_template", "title", "capabilities"):
        assert copy[key] == original[key]


@pytest.mark.parametrize("who", ["ben", "eve"])
async def test_strangers_learn_nothing_from_any_call_that_takes_an_id(
    shelf: Library, who: str
) -> None:
    path = await made(shelf)
    missing = "/assistants/424242"
    calls: list[tuple[str, str, Any]] = [
        ("GET", "", None),
        ("PUT", "", TUTOR),
        ("DELETE", "", None),
        ("GET", "/export", None),
        ("PUT", "/publish", {"published": True}),
    ]
    for method, end, body in calls:
        forbidden = await shelf[who].request(method, path + end, json=body)
        absent = await shelf[who].request(method, missing + end, json=body)
        assert (forbidden.status_code, absent.status_code) == (404, 404)
        number = path.rpartition("/")[2]
        assert forbidden.text == absent.text.replace("424242", number)


@pytest.mark.parametrize("who", ["head", "root"])
async def test_administrators_may_do_what_owners_may(shelf: Library, who: str) -> None:
    path = await made(shelf)
    read = await shelf[who].get(path)
    assert read.status_code == 200
    assert (await shelf[who].put(path, json={**read.json(), "title": "New"})).status_code == 200
    assert (await shelf[who].get(f"{path}/export")).status_code == 200
    assert (await shelf[who].delete(path)).status_code == 200


async def test_browsers_learn_what_they_may_send_and_read(tmp_path: Path) -> None:
    origin = "https://editor.example.org"
    async with library(tmp_path, cors_origins=(origin,)) as shelf:
        asked = {
            "origin": origin,
            "access-control-request-method": "PUT",
            "access-control-request-headers": "if-match",
        }
        allowed = await shelf["ana"].options("/assistants/1", headers=asked)
        assert "PUT" in allowed.headers["access-control-allow-methods"]
        path = await made(shelf)
        read = await shelf["ana"].get(path, headers={"origin": origin})
        exposed = read.headers["access-control-expose-headers"].split(", ")
        # OpenAI's client repeats what failed unless it can read that it should not.
        assert {"etag", "x-should-retry", "content-disposition"} <= set(exposed)
