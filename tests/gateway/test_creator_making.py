"""LAMB's own paths: assistants that are made, published and deleted."""

import pytest
from gateway.creator import CREATOR, FORM, read
from gateway.library import Library
from gateway.shelves import ON_SHARED_LOOP

NOT_CHECKED = {
    "field": "metadata",
    "description": "not checked: the orchestrator cannot be reached",
}


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
        "warnings": told["warnings"],
    }
    shown = await read(shelf, told["assistant_id"])
    assert (shown["rag_processor"], shown["RAG_collections"]) == ("simple_rag", "4,7")
    again = await shelf["ana"].post(f"{CREATOR}/create_assistant", json=FORM)
    assert again.status_code == 409
    # The very words that LAMB's frontend looks for.
    assert "named 'tutor' already exists for this owner" in again.json()["detail"]


async def test_what_cannot_be_checked_is_told(shelf: Library) -> None:
    response = await shelf["ana"].post(f"{CREATOR}/create_assistant", json=FORM)
    assert response.json()["warnings"] == [NOT_CHECKED]


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
@ON_SHARED_LOOP
async def test_a_name_that_breaks_the_rule_is_bent_as_lamb_bends_it(
    shared_shelf: Library, sent: str, kept: str
) -> None:
    response = await shared_shelf["ana"].post(f"{CREATOR}/create_assistant", json={"name": sent})
    assert (response.status_code, response.json()["name"]) == (201, kept)


async def test_a_new_assistant_needs_a_name(shelf: Library) -> None:
    for name in (None, "", "  "):
        response = await shelf["ana"].post(f"{CREATOR}/create_assistant", json={"name": name})
        assert (response.status_code, response.json()["error"]["param"]) == (400, "name")


async def test_instructions_are_another_name_of_the_system_prompt(shelf: Library) -> None:
    body = {"name": "tutor", "instructions": "Be brief."}
    made = await shelf["ana"].post(f"{CREATOR}/create_assistant", json=body)
    assert (await read(shelf, made.json()["assistant_id"]))["system_prompt"] == "Be brief."


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


async def test_what_is_deleted_is_gone(shelf: Library) -> None:
    number = await shelf.legacy()
    path = f"{CREATOR}/delete_assistant/{number}"
    response = await shelf["ana"].delete(path, params={"owner": "ana@example.org"})
    assert (response.status_code, list(response.json())) == (200, ["message"])
    again = await shelf["ana"].delete(path)
    assert (again.status_code, "detail" in again.json()) == (404, True)
