"""LAMB's own paths: the two names and the two forms of metadata."""

import json
from typing import Any

import pytest
from gateway.creator import CREATOR, PLUGINS, read
from gateway.library import METADATA, Library
from gateway.shelves import ON_SHARED_LOOP


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


@pytest.mark.parametrize("blank", ["", "  "])
async def test_metadata_that_is_blank_counts_before_its_older_name(
    shelf: Library, blank: str
) -> None:
    number = await shelf.legacy()
    body = {"name": "blank", "metadata": blank, "api_callback": METADATA}

    edited = await shelf["ana"].put(f"{CREATOR}/update_assistant/{number}", json=body)
    created = await shelf["ana"].post(f"{CREATOR}/create_assistant", json=body)

    assert edited.status_code == 400
    assert edited.json()["error"]["param"] == "metadata"
    assert json.loads((await shelf.stored(number))["metadata"]) == METADATA
    assert created.status_code == 201
    stored = await shelf.stored(created.json()["assistant_id"])
    expected = {"_format_version": 2, "template_syntax": "lamb", "tools": []}
    assert json.loads(stored["metadata"]) == expected


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
@ON_SHARED_LOOP
async def test_metadata_that_lacks_a_plugin_is_refused(
    shared_shelf: Library, key: str, value: object
) -> None:
    number = await shared_shelf.legacy()
    response = await shared_shelf["ana"].put(
        f"{CREATOR}/update_assistant/{number}", json={"metadata": {**METADATA, key: value}}
    )
    assert response.status_code == 400
    told = response.json()
    assert key in told["detail"]
    assert told["detail"] == told["error"]["message"]
    assert told["error"]["param"] == "metadata"
    assert json.loads((await shared_shelf.stored(number))["metadata"]) == METADATA


@pytest.mark.parametrize("metadata", ["not-json{", "[]", "5", [1], True, '{"a":1,"a":2}'])
@ON_SHARED_LOOP
async def test_metadata_that_is_no_object_is_refused(
    shared_shelf: Library, metadata: object
) -> None:
    number = await shared_shelf.legacy()
    for method, path in (("PUT", f"update_assistant/{number}"), ("POST", "create_assistant")):
        response = await shared_shelf["ana"].request(
            method, f"{CREATOR}/{path}", json={"name": "x", "metadata": metadata}
        )
        assert response.status_code == 400
        assert response.json()["error"]["param"] == "metadata"
