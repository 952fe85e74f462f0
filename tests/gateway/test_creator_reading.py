"""LAMB's own paths: what its clients see of an assistant."""

import json
from typing import Any

import pytest
from gateway.creator import CREATOR, PLUGINS
from gateway.library import METADATA, Library
from gateway.shelves import ON_SHARED_LOOP


async def test_an_assistant_is_shown_as_lamb_shows_it(shelf: Library) -> None:
    number = await shelf.legacy()
    response = await shelf["ana"].get(f"{CREATOR}/get_assistant/{number}")
    told = response.json()
    assert told["api_callback"] == told["metadata"]
    metadata = json.loads(told["metadata"])
    assert {key: metadata[key] for key in METADATA} == METADATA
    assert metadata["_format_version"] == 2
    assert {key: told[key] for key in METADATA if key != "quota"} == {
        key: METADATA[key] for key in METADATA if key != "quota"
    }
    assert (told["id"], told["name"], told["owner"]) == (number, "7_tutor", "ana@example.org")
    assert (told["RAG_Top_k"], told["RAG_collections"]) == (5, "4, 7")
    assert (told["published"], told["published_at"], told["group_id"]) == (False, None, None)
    assert told["created_at"] == 1_700_000_000
    assert (told["is_owner"], told["access_level"]) == (True, "full")
    assert "no-store" in response.headers["cache-control"]


async def test_an_export_has_what_lambs_import_asks_for(shelf: Library) -> None:
    number = await shelf.legacy()
    response = await shelf["ana"].get(f"{CREATOR}/export/{number}")
    told = response.json()
    assert told["name"]
    assert told["metadata"] == told["api_callback"]
    assert json.loads(told["metadata"])["rag_processor"] == told["rag_processor"] == "simple_rag"
    assert (told["RAG_Top_k"], told["RAG_collections"]) == (5, "4, 7")
    assert "attachment" in response.headers["content-disposition"]
    assert "ana@example.org" not in response.text
    copy = await shelf["eve"].post("/assistants/import", content=response.content)
    assert copy.status_code == 201, copy.text
    original = (await shelf["ana"].get(f"/assistants/{number}")).json()
    assert copy.json()["tools"] == original["tools"]


async def test_lists_are_counted_and_cut_as_lamb_does(shelf: Library) -> None:
    numbers = [await shelf.legacy(name=f"7_tutor_{index}") for index in range(12)]
    before = await shelf.stored(numbers[0])

    async def listed(query: str) -> list[int]:
        response = await shelf["ana"].get(f"{CREATOR}/get_assistants{query}")
        assert response.json()["total_count"] == 12
        return [each["id"] for each in response.json()["assistants"]]

    assert await listed("") == numbers[:10]
    assert await listed("?limit=3&offset=4") == numbers[4:7]
    assert await listed("?limit=5&offset=10") == numbers[10:]
    assert await listed("?offset=12") == []
    assert await listed("?offset=9000") == []
    assert await shelf.stored(numbers[0]) == before
    stranger = (await shelf["eve"].get(f"{CREATOR}/get_assistants")).json()
    assert stranger == {"assistants": [], "total_count": 0}
    assert (await shelf["head"].get(f"{CREATOR}/get_assistants")).json()["total_count"] == 12


async def test_a_page_far_behind_is_found(shelf: Library) -> None:
    numbers = [await shelf.legacy(name=f"7_tutor_{index}") for index in range(230)]
    response = await shelf["ana"].get(f"{CREATOR}/get_assistants?limit=100&offset=150")
    assert [each["id"] for each in response.json()["assistants"]] == numbers[150:]


async def test_a_page_of_large_assistants_is_whole(shelf: Library) -> None:
    large = "x" * (4 * 1024 * 1024)
    numbers = [
        await shelf.legacy(name=f"7_tutor_{index}", system_prompt=large) for index in range(7)
    ]
    response = await shelf["ana"].get(f"{CREATOR}/get_assistants?limit=5&offset=1")
    told = response.json()
    assert [each["id"] for each in told["assistants"]] == numbers[1:6]
    assert told["total_count"] == 7


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "offset=-1", "offset=2147483648", "limit=x"]
)
@ON_SHARED_LOOP
async def test_a_wrong_page_is_refused(shared_shelf: Library, query: str) -> None:
    response = await shared_shelf["ana"].get(f"{CREATOR}/get_assistants?{query}")
    assert response.status_code == 400
    assert query.partition("=")[0] in response.json()["detail"]


async def test_an_editor_starts_with_a_model_that_is_ready(scripted_shelf: Library) -> None:
    shelf = scripted_shelf
    told = (await shelf["ana"].get(f"{CREATOR}/defaults")).json()
    assert (told["connector"], told["llm"]) == ("openai", "gpt-x")
    assert told["rag_processor"] == "no_rag"
    assert "{moodle_user}" in told["rag_placeholders"]
    made = await shelf["ana"].post(
        f"{CREATOR}/create_assistant",
        json={"name": "new", "metadata": {key: told[key] for key in PLUGINS}},
    )
    assert made.status_code == 201


async def test_lambs_clients_find_refusals_where_they_look(shelf: Library) -> None:
    shelf["eve"].headers["authorization"] = "Bearer wrong"
    response = await shelf["eve"].get(f"{CREATOR}/get_assistants")
    assert response.status_code == 401
    assert response.json()["detail"] == response.json()["error"]["message"]


@pytest.mark.parametrize("who", ["ben", "eve"])
async def test_strangers_learn_nothing_from_any_call_that_takes_an_id(
    shelf: Library, who: str
) -> None:
    number = await shelf.legacy()
    calls: list[tuple[str, str, Any]] = [
        ("GET", "get_assistant", None),
        ("PUT", "update_assistant", {"name": "mine"}),
        ("PUT", "update_assistant", {"description": "mine"}),
        ("DELETE", "delete_assistant", None),
        ("GET", "export", None),
        ("PUT", "publish", {"publish_status": True}),
    ]
    for method, call, body in calls:
        told = []
        for target in (number, 424242):
            response = await shelf[who].request(method, f"{CREATOR}/{call}/{target}", json=body)
            assert response.status_code == 404
            told.append(response.text.replace(str(target), "N"))
        assert told[0] == told[1]
    assert (await shelf.stored(number))["owner"] == "ana@example.org"
