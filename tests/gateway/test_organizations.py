"""`/organizations`, their users and prices, `/keys` and quotas, before the real services."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway.library import TUTOR, Library, library

UNI = "/organizations/uni"
ANN = f"{UNI}/users/ann@uni.example"
SECRET = "sk-a-secret-of-the-university"
SETTINGS: dict[str, Any] = {
    "providers": {"openai": {"api_key": SECRET, "base_url": "https://api.example"}},
    "global_default_model": {"provider": "openai", "model": "gpt-x"},
}


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Library]:
    """A gateway with the organisation `uni`."""
    async with library(tmp_path) as running:
        created = await running["root"].put(UNI, json={"name": "Uni", "settings": SETTINGS})
        assert created.status_code == 200, created.text
        yield running


def param(response: Any) -> tuple[int, str]:
    """Return the status and the field of an error."""
    return response.status_code, response.json()["error"]["param"]


async def test_an_operator_makes_organisations_and_nobody_reads_their_secrets(
    shelf: Library,
) -> None:
    root, head = shelf["root"], shelf["head"]
    again = await root.put(UNI, json={"name": "Other"}, headers={"if-none-match": "*"})
    assert again.status_code == 409
    for reader in (root, head):
        response = await reader.get(UNI)
        assert SECRET not in response.text
        assert response.json()["settings"]["providers"]["openai"]["api_key"] == "********"
        assert response.headers["cache-control"] == "no-store"
    listed = (await head.get("/organizations")).json()["organizations"]
    assert [each["slug"] for each in listed] == ["uni"]
    await root.put("/organizations/college", json={"name": "The College"})
    page = (await root.get("/organizations", params={"page_size": 1})).json()
    assert [each["slug"] for each in page["organizations"]] == ["college"]
    token = page["next_page_token"]
    rest = (await root.get("/organizations", params={"page_size": 1, "page_token": token})).json()
    assert [each["slug"] for each in rest["organizations"]] == ["default"]
    matches = (await root.get("/organizations", params={"text": "COLLEGE"})).json()
    assert [each["slug"] for each in matches["organizations"]] == ["college"]
    assert (await root.get("/organizations", params={"text": "%"})).json()["organizations"] == []
    assert (await shelf["ana"].get("/organizations")).json()["organizations"] == []
    assert (await shelf["ana"].get(UNI)).status_code == 404
    assert (await head.get("/organizations/college")).status_code == 404
    assert (await head.put("/organizations/new", json={})).status_code == 404


async def test_settings_change_only_from_the_version_that_was_read(shelf: Library) -> None:
    head = shelf["head"]
    read = await head.get(UNI)
    settings = read.json()["settings"] | {"output_hosts": "example.org"}
    etag = {"if-match": read.headers["etag"]}
    changed = await head.put(UNI, json={"settings": settings}, headers=etag)
    assert changed.status_code == 200, changed.text
    assert changed.json()["settings"]["output_hosts"] == "example.org"
    assert (await head.put(UNI, json={"settings": {}}, headers=etag)).status_code == 409
    assert (await head.put(UNI, json=(await head.get(UNI)).json())).status_code == 200
    renamed = await head.put(UNI, json={"name": "University"})
    assert renamed.json()["name"] == "University"
    assert renamed.json()["settings"] == settings

    moved = {"providers": {"openai": {"api_key": "********", "base_url": "https://evil.example"}}}
    assert param(await head.put(UNI, json={"settings": moved})) == (400, "settings")
    assert param(await head.put(UNI, json={"settings": []})) == (400, "settings")
    assert param(await head.put(UNI, json={"name": "a\u0007b"})) == (400, "name")
    assert param(await shelf["root"].put("/organizations/-x", json={})) == (400, "slug")


async def test_administrators_keep_the_users_of_their_organisation(shelf: Library) -> None:
    head, root = shelf["head"], shelf["root"]
    new = {"if-none-match": "*"}
    created = await head.put(ANN, json={"name": "Ann", "role": "admin"}, headers=new)
    assert created.status_code == 200, created.text
    user = created.json()
    assert (user["email"], user["role"], user["home"]) == ("ann@uni.example", "admin", False)
    assert abs(user["created"] - time.time()) < 60
    assert (await head.put(ANN, json={}, headers=new)).status_code == 409
    etag = {"if-match": created.headers["etag"]}
    changed = await head.put(ANN, json={"name": "Ann", "disabled": True}, headers=etag)
    assert (changed.json()["role"], changed.json()["disabled"]) == ("member", True)
    assert (await head.put(ANN, json={}, headers=etag)).status_code == 409
    assert (await head.delete(ANN, headers=etag)).status_code == 409
    assert (await head.get(ANN)).headers["etag"] == changed.headers["etag"]

    await head.put(f"{UNI}/users/bob@uni.example", json={"role": "creator", "name": "Bob B."})
    emails = [each["email"] for each in (await head.get(f"{UNI}/users")).json()["users"]]
    assert emails == ["ann@uni.example", "bob@uni.example"]
    first = (await head.get(f"{UNI}/users", params={"page_size": 1})).json()
    query = {"page_size": 1, "page_token": first["next_page_token"]}
    [second] = (await head.get(f"{UNI}/users", params=query)).json()["users"]
    assert second["email"] == "bob@uni.example"
    for chosen in ({"text": "bob b"}, {"role": "creator"}):
        [matches] = (await head.get(f"{UNI}/users", params=chosen)).json()["users"]
        assert matches["email"] == "bob@uni.example"

    assert param(await head.put(ANN, json={"role": "boss"})) == (400, "role")
    assert param(await head.put(f"{UNI}/users/a b@c", json={})) == (400, "email")
    assert (await shelf["ana"].get(f"{UNI}/users")).status_code == 404
    assert (await shelf["eve"].delete(ANN)).status_code == 404
    assert (await root.get("/organizations/none/users")).status_code == 404
    assert (await head.delete(ANN)).json() == {"id": "ann@uni.example", "deleted": True}
    assert (await head.get(ANN)).status_code == 404
    assert (await head.delete(ANN)).status_code == 404
    me = f"{UNI}/users/head@example.org"
    await head.put(me, json={"role": "admin"})
    assert param(await head.delete(me)) == (400, "email")
    events = (await head.get("/audit", params={"object_type": "user"})).json()["events"]
    done = [each["action"] for each in events if each["outcome"] == "done"]
    assert done == ["user.create", "user.delete", "user.create", "user.update", "user.create"]


async def test_a_removed_user_has_no_session_and_no_key(shelf: Library) -> None:
    root = shelf["root"]
    await root.put(ANN, json={})
    password = (await root.post(f"{ANN}/password", json={})).json()["password"]
    assert (await root.get(ANN)).json()["has_password"]
    body = {"name": "notebook", "organization": "uni", "user": "ann@uni.example"}
    key = (await root.post("/keys", json=body)).json()["key"]
    client = shelf["eve"]
    headers = {"authorization": f"Bearer {key}"}
    assert (await client.get("/v1/me", headers=headers)).json()["email"] == "ann@uni.example"

    await root.delete(ANN)
    deadline = time.monotonic() + 10
    while (await client.get("/v1/me", headers=headers)).status_code == 200:
        assert time.monotonic() < deadline
    body = {"email": "ann@uni.example", "password": password}
    assert (await client.post("/login", json=body)).status_code == 401


async def test_a_key_is_shown_once_and_its_use_is_known(shelf: Library) -> None:
    root, head = shelf["root"], shelf["head"]
    await head.put(ANN, json={"role": "creator"})
    expires = int(time.time()) + 3600
    body = {"name": "notebook", "user": "ann@uni.example", "expires_at": expires}
    response = await head.post("/keys", json=body)
    assert response.status_code == 201, response.text
    created = response.json()
    assert response.headers["location"] == f"/keys/{created['id']}"
    assert (created["organization"], created["last_used"], created["expires_at"]) == (
        "uni",
        None,
        expires,
    )
    secret = {"authorization": f"Bearer {created['key']}"}
    used_at = time.time()
    assert (await shelf["eve"].get("/v1/me", headers=secret)).status_code == 200

    listed = await head.get("/keys")
    assert created["key"] not in listed.text
    [key] = listed.json()["keys"]
    assert abs(key["last_used"] - used_at) < 60
    own = await shelf["eve"].get("/keys", headers=secret)
    assert [each["id"] for each in own.json()["keys"]] == [created["id"]]
    mine = {"name": "mine", "user": "ann@uni.example"}
    assert (await shelf["eve"].post("/keys", json=mine, headers=secret)).status_code == 201
    other = {"name": "other", "user": "bob@uni.example"}
    assert (await shelf["eve"].post("/keys", json=other, headers=secret)).status_code == 403
    assert (await shelf["eve"].get("/keys")).json()["keys"] == []
    matches = (await head.get("/keys", params={"text": "NOTE"})).json()["keys"]
    assert [each["name"] for each in matches] == ["notebook"]

    assert (await shelf["eve"].delete(f"/keys/{created['id']}")).status_code == 404
    revoked = (await head.delete(f"/keys/{created['id']}")).json()
    assert abs(revoked["revoked_at"] - time.time()) < 60
    usable = (await head.get("/keys", params={"usable": "true"})).json()["keys"]
    assert [each["name"] for each in usable] == ["mine"]
    assert (await root.get("/keys", params={"organization": "college"})).json()["keys"] == []
    assert param(await head.post("/keys", json=body | {"expires_at": 5})) == (400, "expires_at")
    assert param(await head.post("/keys", json=body | {"user": "no@uni.example"})) == (400, "user")
    assert (await head.post("/keys", json=body | {"scopes": ["admin"]})).status_code == 403
    assert param(await head.post("/keys", json={"name": ""})) == (400, "name")


async def test_prices_are_replaced_without_touching_other_settings(shelf: Library) -> None:
    head, path = shelf["head"], f"{UNI}/prices"
    read = await head.get(path)
    assert read.json() == {"prices": []}
    prices = {
        "openai/gpt-x": {"input": 2.5, "output": 10},
        "openai/gpt-*": {"input": 1, "cached_input": 0.5, "output": 2},
    }
    etag = {"if-match": read.headers["etag"]}
    changed = await head.put(path, json={"prices": prices}, headers=etag)
    assert changed.status_code == 200, changed.text
    assert changed.json()["prices"] == [
        {"name": "openai/gpt-*", "input": 1, "cached_input": 0.5, "output": 2, "own": True},
        {"name": "openai/gpt-x", "input": 2.5, "cached_input": 2.5, "output": 10, "own": True},
    ]
    assert (await head.put(path, json={"prices": {}}, headers=etag)).status_code == 409
    settings = (await head.get(UNI)).json()["settings"]
    assert settings["global_default_model"] == SETTINGS["global_default_model"]
    assert settings["providers"]["openai"]["api_key"] == "********"
    wrong = {"prices": {"openai/gpt-x": {"input": -1, "output": 10}}}
    status, field = param(await head.put(path, json=wrong))
    assert status == 400
    assert field.endswith("input")
    assert (await head.put(path, json={"prices": {"GPT": prices}})).status_code == 400
    assert (await shelf["ana"].get(path)).status_code == 404
    assert (await shelf["eve"].put(path, json={"prices": {}})).status_code == 404
    assert (await head.put(path, json={"prices": {}})).json() == {"prices": []}


async def test_administrators_change_quotas_and_other_members_stay(shelf: Library) -> None:
    ana, head = shelf["ana"], shelf["head"]
    created = await ana.post("/assistants", json=TUTOR)
    path = f"/assistants/{created.json()['id']}/quota"
    assert (await ana.put(path, json={"limit_usd": 9})).status_code == 403
    assert (await shelf["eve"].put(path, json={"limit_usd": 9})).status_code == 404
    stale = {"if-match": '"1-99"'}
    assert (await head.put(path, json={"limit_usd": 9}, headers=stale)).status_code == 409
    etag = {"if-match": created.headers["etag"]}
    response = await head.put(path, json={"limit_usd": 7.25}, headers=etag)
    assert response.status_code == 200, response.text
    assert response.json()["quota"]["limit_usd"] == 7.25
    stored = (await ana.get(f"/assistants/{created.json()['id']}")).json()
    assert stored["extra"]["big"] == TUTOR["extra"]["big"]
    assert stored["system_prompt"] == TUTOR["system_prompt"]
    assert (await head.put(path, json={"limit_usd": None})).json()["quota"] is None
    for body in ({}, {"limit_usd": -1}):
        assert param(await head.put(path, json=body)) == (400, "limit_usd")
    assert (await ana.get("/usage/assistants")).json()["assistants"] == []
