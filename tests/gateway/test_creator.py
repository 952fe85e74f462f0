"""LAMB's own paths, before the real service that keeps the assistants."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway.library import METADATA, Library, library

CREATOR = "/creator/assistant"
PLUGINS = ("prompt_processor", "connector", "llm", "rag_processor")
# What LAMB's form sends: it knows nothing of tools, quotas or titles.
FORM = {
    "name": "tutor",
    "description": "Helps.",
    "system_prompt": "You help.",
    "prompt_template": "{context}\n\n{user_input}",
    "RAG_Top_k": 5,
    "RAG_collections": "4,7",
    "metadata": json.dumps(
        {
            "prompt_processor": "simple_augment",
            "connector": "openai",
            "llm": "gpt-4o-mini",
            "rag_processor": "simple_rag",
            "capabilities": {"vision": True, "image_generation": False},
        }
    ),
    "pre_retrieval_endpoint": "",
    "post_retrieval_endpoint": "",
    "RAG_endpoint": "",
}


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Library]:
    """A gateway with its defaults."""
    async with library(tmp_path) as running:
        yield running


async def read(shelf: Library, number: int, who: str = "ana") -> dict[str, Any]:
    """Return what LAMB's clients see of an assistant."""
    response = await shelf[who].get(f"{CREATOR}/get_assistant/{number}")
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


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


async def test_what_is_read_can_be_saved_and_changes_nothing(shelf: Library) -> None:
    number = await shelf.legacy()
    before = await shelf["ana"].get(f"{CREATOR}/get_assistant/{number}")
    row = await shelf.stored(number)
    for headers in ({}, {"if-match": before.headers["etag"]}):
        response = await shelf["ana"].put(
            f"{CREATOR}/update_assistant/{number}", content=before.content, headers=headers
        )
        assert response.status_code == 200, response.text
        assert response.json()["assistant_id"] == number
    assert (await shelf["ana"].get(f"{CREATOR}/get_assistant/{number}")).json() == before.json()
    assert await shelf.stored(number) == row


async def test_what_lambs_form_does_not_know_survives_it(shelf: Library) -> None:
    extra = {"type": "rubric", "config": {"rubric_id": "r-1"}, "slot": "rubric", "enabled": True}
    number = await shelf.legacy()
    document = (await shelf["ana"].get(f"/assistants/{number}")).json()
    document["tools"].append(extra)
    document["title"] = "Tutor"
    assert (await shelf["ana"].put(f"/assistants/{number}", json=document)).status_code == 200
    before = (await shelf["ana"].get(f"/assistants/{number}")).json()
    saved = await shelf["ana"].put(f"{CREATOR}/update_assistant/{number}", json=FORM)
    assert saved.status_code == 200, saved.text
    after = (await shelf["ana"].get(f"/assistants/{number}")).json()
    assert (after["name"], after["title"]) == ("7_tutor", "Tutor")
    assert after["tools"] == before["tools"]
    assert after["extra"]["quota"] == METADATA["quota"]


async def test_all_ways_to_send_metadata_are_one(shelf: Library) -> None:
    number = await shelf.legacy()
    await read(shelf, number)
    new = {**METADATA, "llm": "gpt-x"}
    other = {**METADATA, "llm": "gpt-never"}
    bodies: list[dict[str, Any]] = [
        {"metadata": new},
        {"metadata": json.dumps(new)},
        {"api_callback": new},
        {"api_callback": json.dumps(new)},
        {"metadata": new, "api_callback": json.dumps(other)},
        {"metadata": json.dumps(new), "api_callback": other},
        {"metadata": None, "api_callback": new},
    ]
    results = []
    path = f"{CREATOR}/update_assistant/{number}"
    for body in bodies:
        await shelf["ana"].put(path, json={"metadata": METADATA})
        response = await shelf["ana"].put(path, json=body)
        assert response.status_code == 200, response.text
        results.append((await shelf.stored(number))["metadata"])
    assert len(set(results)) == 1
    assert json.loads(results[0])["llm"] == "gpt-x"


async def test_new_assistants_take_metadata_in_all_ways_too(shelf: Library) -> None:
    bodies: list[dict[str, Any]] = [
        {"metadata": METADATA},
        {"metadata": json.dumps(METADATA)},
        {"api_callback": METADATA},
        {"api_callback": json.dumps(METADATA)},
    ]
    results = []
    for index, body in enumerate(bodies):
        response = await shelf["ana"].post(
            f"{CREATOR}/create_assistant", json={"name": f"tutor_{index}", **body}
        )
        assert response.status_code == 201, response.text
        results.append((await shelf.stored(response.json()["assistant_id"]))["metadata"])
    assert len(set(results)) == 1


@pytest.mark.parametrize("key", PLUGINS)
@pytest.mark.parametrize("value", [None, "", "  ", 5])
async def test_metadata_that_lacks_a_plugin_is_refused(
    shelf: Library, key: str, value: object
) -> None:
    number = await shelf.legacy()
    response = await shelf["ana"].put(
        f"{CREATOR}/update_assistant/{number}", json={"metadata": {**METADATA, key: value}}
    )
    assert response.status_code == 400
    told = response.json()
    assert key in told["detail"]
    assert told["detail"] == told["error"]["message"]
    assert json.loads((await shelf.stored(number))["metadata"]) == METADATA


@pytest.mark.parametrize("metadata", ["not-json{", "[]", "5", [1], True, '{"a":1,"a":2}'])
async def test_metadata_that_is_no_object_is_refused(shelf: Library, metadata: object) -> None:
    number = await shelf.legacy()
    for method, path in (("PUT", f"update_assistant/{number}"), ("POST", "create_assistant")):
        response = await shelf["ana"].request(
            method, f"{CREATOR}/{path}", json={"name": "x", "metadata": metadata}
        )
        assert response.status_code == 400
        assert response.json()["error"]["param"] == "metadata"


async def test_what_a_save_does_not_tell_stays(shelf: Library) -> None:
    number = await shelf.legacy()
    before = await read(shelf, number)
    path = f"{CREATOR}/update_assistant/{number}"
    assert (await shelf["ana"].put(path, json={"description": "New."})).status_code == 200
    after = await read(shelf, number)
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {"description", "updated_at"}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("tutor", "7_tutor"),
        ("7_tutor", "7_tutor"),
        ("helper", "7_helper"),
        ("7_helper", "7_helper"),
        ("Two Words!", "7_two_words"),
    ],
)
async def test_the_creators_number_stays_before_a_name(
    shelf: Library, sent: str, kept: str
) -> None:
    number = await shelf.legacy()
    path = f"{CREATOR}/update_assistant/{number}"
    assert (await shelf["ana"].put(path, json={"name": sent})).status_code == 200
    assert (await read(shelf, number))["name"] == kept


async def test_a_new_assistant_is_answered_as_lamb_does(shelf: Library) -> None:
    response = await shelf["ana"].post(f"{CREATOR}/create_assistant", json=FORM)
    assert response.status_code == 201
    told = response.json()
    assert told == {
        "assistant_id": told["assistant_id"],
        "name": "tutor",
        "description": "Helps.",
        "owner": "ana@example.org",
        "publish_status": None,
    }
    shown = await read(shelf, told["assistant_id"])
    assert (shown["rag_processor"], shown["RAG_collections"]) == ("simple_rag", "4,7")
    again = await shelf["ana"].post(f"{CREATOR}/create_assistant", json=FORM)
    assert again.status_code == 409
    # The very words that LAMB's frontend looks for.
    assert "named 'tutor' already exists for this owner" in again.json()["detail"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("My Tutor", "my_tutor"),
        ("  été à l'école ", "t_lcole"),
        ("!!!", "untitled"),
        ("Maths-101", "Maths-101"),
        ("x" * 200, "x" * 50),
    ],
)
async def test_a_name_that_breaks_the_rule_is_bent_as_lamb_bends_it(
    shelf: Library, sent: str, kept: str
) -> None:
    response = await shelf["ana"].post(f"{CREATOR}/create_assistant", json={"name": sent})
    assert (response.status_code, response.json()["name"]) == (201, kept)


async def test_a_new_assistant_needs_a_name(shelf: Library) -> None:
    for name in (None, "", "  "):
        response = await shelf["ana"].post(f"{CREATOR}/create_assistant", json={"name": name})
        assert (response.status_code, response.json()["error"]["param"]) == (400, "name")


async def test_instructions_are_another_name_of_the_system_prompt(shelf: Library) -> None:
    body = {"name": "tutor", "instructions": "Be brief."}
    made = await shelf["ana"].post(f"{CREATOR}/create_assistant", json=body)
    assert (await read(shelf, made.json()["assistant_id"]))["system_prompt"] == "Be brief."


@pytest.mark.parametrize(("top_k", "kept"), [(7, 7), ("8", 8), (9.0, 9), (None, 5)])
async def test_the_number_of_results_may_be_a_text(
    shelf: Library, top_k: object, kept: int
) -> None:
    number = await shelf.legacy()
    path = f"{CREATOR}/update_assistant/{number}"
    assert (await shelf["ana"].put(path, json={"RAG_Top_k": top_k})).status_code == 200
    assert (await read(shelf, number))["RAG_Top_k"] == kept


@pytest.mark.parametrize("top_k", [None, "", "3", "04", "many"])
async def test_an_odd_number_of_results_survives_a_save(shelf: Library, top_k: object) -> None:
    number = await shelf.legacy(rag_top_k=top_k)
    before = await shelf["ana"].get(f"{CREATOR}/get_assistant/{number}")
    kept = await shelf.stored(number)
    path = f"{CREATOR}/update_assistant/{number}"
    assert (await shelf["ana"].put(path, content=before.content)).status_code == 200
    assert await shelf.stored(number) == kept


@pytest.mark.parametrize("top_k", [True, 2.5, [3], {}])
async def test_a_number_of_results_that_is_none_is_refused(shelf: Library, top_k: object) -> None:
    number = await shelf.legacy()
    path = f"{CREATOR}/update_assistant/{number}"
    response = await shelf["ana"].put(path, json={"RAG_Top_k": top_k})
    assert (response.status_code, response.json()["error"]["param"]) == (400, "RAG_Top_k")


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


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "offset=-1", "offset=10001", "limit=x"])
async def test_a_wrong_page_is_refused(shelf: Library, query: str) -> None:
    response = await shelf["ana"].get(f"{CREATOR}/get_assistants?{query}")
    assert response.status_code == 400
    assert query.partition("=")[0] in response.json()["detail"]


async def test_an_edit_of_what_somebody_else_changed_is_refused(shelf: Library) -> None:
    number = await shelf.legacy()
    etag = (await shelf["ana"].get(f"{CREATOR}/get_assistant/{number}")).headers["etag"]
    path = f"{CREATOR}/update_assistant/{number}"
    other = await shelf["head"].put(path, json={"description": "Theirs."})
    assert other.headers["etag"] != etag
    mine = await shelf["ana"].put(path, json={"description": "Mine."}, headers={"if-match": etag})
    assert mine.status_code == 409
    assert str(number) in mine.json()["detail"]
    assert (await read(shelf, number))["description"] == "Theirs."


async def test_publishing_sets_what_lambs_clients_look_at(shelf: Library) -> None:
    number = await shelf.legacy()
    path = f"{CREATOR}/publish/{number}"
    told = (await shelf["ana"].put(path, json={"publish_status": True})).json()
    assert (told["published"], told["oauth_consumer_name"]) == (True, "7_tutor")
    assert told["group_id"] == told["group_name"] == f"assistant_{number}"
    assert told["published_at"] > 1_700_000_000
    shown = await read(shelf, number, "ben")
    assert (shown["is_owner"], shown["access_level"]) == (False, "read_only")
    told = (await shelf["ana"].put(path, json={"publish_status": False})).json()
    assert (told["published"], told["published_at"]) == (False, None)
    wrong = await shelf["ana"].put(path, json={"publish_status": "yes"})
    assert wrong.status_code == 400


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


async def test_what_is_deleted_is_gone(shelf: Library) -> None:
    number = await shelf.legacy()
    path = f"{CREATOR}/delete_assistant/{number}"
    response = await shelf["ana"].delete(path, params={"owner": "ana@example.org"})
    assert (response.status_code, list(response.json())) == (200, ["message"])
    again = await shelf["ana"].delete(path)
    assert (again.status_code, "detail" in again.json()) == (404, True)


async def test_an_editor_starts_with_a_model_that_is_ready(shelf: Library) -> None:
    told = (await shelf["ana"].get(f"{CREATOR}/defaults")).json()
    assert (told["connector"], told["llm"]) == ("openai", "gpt-x")
    assert told["rag_processor"] == "no_rag"
    assert "{moodle_user}" in told["rag_placeholders"]
    made = await shelf["ana"].post(
        f"{CREATOR}/create_assistant",
        json={"name": "new", "metadata": {key: told[key] for key in PLUGINS}},
    )
    assert made.status_code == 201


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


async def test_a_malformed_assistant_is_refused_and_left_alone(shelf: Library) -> None:
    number = await shelf.legacy(metadata="not-json{")
    response = await shelf["ana"].get(f"{CREATOR}/get_assistant/{number}")
    assert response.status_code == 422
    assert "detail" in response.json()
    saved = await shelf["ana"].put(f"{CREATOR}/update_assistant/{number}", json=FORM)
    assert saved.status_code == 422
    assert (await shelf.stored(number))["metadata"] == "not-json{"
    listed = (await shelf["ana"].get(f"{CREATOR}/get_assistants")).json()["assistants"]
    assert listed[0]["metadata"] == "not-json{"


async def test_lambs_clients_find_refusals_where_they_look(shelf: Library) -> None:
    shelf["eve"].headers["authorization"] = "Bearer wrong"
    response = await shelf["eve"].get(f"{CREATOR}/get_assistants")
    assert response.status_code == 401
    assert response.json()["detail"] == response.json()["error"]["message"]


GOLDEN = Path(__file__).parents[1] / "golden" / "migration"
LEGACY = {
    path.name.removesuffix(".legacy.json"): json.loads(path.read_text())
    for path in sorted(GOLDEN.glob("*.legacy.json"))
}


@pytest.mark.parametrize("name", LEGACY)
async def test_every_assistant_of_lambs_can_be_read_and_saved(shelf: Library, name: str) -> None:
    row = LEGACY[name]
    text = row["api_callback"]
    number = await shelf.legacy(
        name=row["name"],
        metadata=text if text is None or isinstance(text, str) else json.dumps(text),
        rag_top_k=row["RAG_Top_k"],
        rag_collections=row["RAG_collections"],
        prompt_template=row["prompt_template"],
    )
    before = await shelf["ana"].get(f"{CREATOR}/get_assistant/{number}")
    kept = await shelf.stored(number)
    saved = await shelf["ana"].put(f"{CREATOR}/update_assistant/{number}", content=before.content)
    if before.status_code == 422:
        assert kept["metadata"] == text
        return
    assert (before.status_code, saved.status_code) == (200, 200), saved.text
    assert await shelf.stored(number) == kept
