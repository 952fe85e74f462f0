"""LAMB's own paths: what a save changes, and what survives it."""

import json
from pathlib import Path

import pytest
from gateway.creator import CREATOR, FORM, read
from gateway.library import METADATA, Library
from gateway.shelves import ON_SHARED_LOOP
from runtime.examples import sampled


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
        assert response.json()["published"] is False
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
@ON_SHARED_LOOP
async def test_the_creators_number_stays_before_a_name(
    shared_shelf: Library, sent: str, kept: str
) -> None:
    number = await shared_shelf.legacy()
    path = f"{CREATOR}/update_assistant/{number}"
    assert (await shared_shelf["ana"].put(path, json={"name": sent})).status_code == 200
    assert (await read(shared_shelf, number))["name"] == kept


@pytest.mark.parametrize(("top_k", "kept"), [(7, 7), ("8", 8), (9.0, 9), (None, 5)])
@ON_SHARED_LOOP
async def test_the_number_of_results_may_be_a_text(
    shared_shelf: Library, top_k: object, kept: int
) -> None:
    number = await shared_shelf.legacy()
    path = f"{CREATOR}/update_assistant/{number}"
    assert (await shared_shelf["ana"].put(path, json={"RAG_Top_k": top_k})).status_code == 200
    assert (await read(shared_shelf, number))["RAG_Top_k"] == kept


@pytest.mark.parametrize("top_k", [None, "", "3", "04", "many"])
@ON_SHARED_LOOP
async def test_an_odd_number_of_results_survives_a_save(
    shared_shelf: Library, top_k: object
) -> None:
    number = await shared_shelf.legacy(rag_top_k=top_k)
    before = await shared_shelf["ana"].get(f"{CREATOR}/get_assistant/{number}")
    kept = await shared_shelf.stored(number)
    path = f"{CREATOR}/update_assistant/{number}"
    assert (await shared_shelf["ana"].put(path, content=before.content)).status_code == 200
    assert await shared_shelf.stored(number) == kept


@pytest.mark.parametrize("top_k", [True, 2.5, [3], {}])
@ON_SHARED_LOOP
async def test_a_number_of_results_that_is_none_is_refused(
    shared_shelf: Library, top_k: object
) -> None:
    number = await shared_shelf.legacy()
    path = f"{CREATOR}/update_assistant/{number}"
    response = await shared_shelf["ana"].put(path, json={"RAG_Top_k": top_k})
    assert (response.status_code, response.json()["error"]["param"]) == (400, "RAG_Top_k")


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


async def test_a_malformed_assistant_is_left_alone_until_its_metadata_is_sent(
    shelf: Library,
) -> None:
    number = await shelf.legacy(metadata="not-json{")
    assert (await read(shelf, number))["metadata"] == "not-json{"
    listed = (await shelf["ana"].get(f"{CREATOR}/get_assistants")).json()["assistants"]
    assert listed[0]["metadata"] == "not-json{"
    path = f"{CREATOR}/update_assistant/{number}"
    described = await shelf["ana"].put(path, json={"description": "Mine."})
    assert described.status_code == 422
    assert "Send its metadata" in described.json()["detail"]
    assert (await shelf.stored(number))["metadata"] == "not-json{"
    assert (await shelf["ana"].put(path, json=FORM)).status_code == 200
    assert (await read(shelf, number))["rag_processor"] == "simple_rag"


GOLDEN = Path(__file__).parents[1] / "golden" / "migration"
LEGACY = {
    path.name.removesuffix(".legacy.json"): json.loads(path.read_text())
    for path in sorted(GOLDEN.glob("*.legacy.json"))
}


@pytest.mark.parametrize("name", sampled(LEGACY, 8))
@ON_SHARED_LOOP
async def test_every_assistant_of_lambs_can_be_read_and_saved(
    shared_shelf: Library, name: str
) -> None:
    row = LEGACY[name]
    text = row["api_callback"]
    number = await shared_shelf.legacy(
        name=row["name"],
        metadata=text if text is None or isinstance(text, str) else json.dumps(text),
        rag_top_k=row["RAG_Top_k"],
        rag_collections=row["RAG_collections"],
        prompt_template=row["prompt_template"],
    )
    before = await shared_shelf["ana"].get(f"{CREATOR}/get_assistant/{number}")
    kept = await shared_shelf.stored(number)
    saved = await shared_shelf["ana"].put(
        f"{CREATOR}/update_assistant/{number}", content=before.content
    )
    if name == "14_not_json":
        assert (before.status_code, saved.status_code) == (200, 400)
        assert kept["metadata"] == text
        return
    assert (before.status_code, saved.status_code) == (200, 200), saved.text
    assert await shared_shelf.stored(number) == kept
