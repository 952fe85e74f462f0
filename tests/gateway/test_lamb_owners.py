"""Collections that LAMB creates for its users, with a key of its own."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway.shelves import Shelves, shelves
from gateway.test_lamb_kb import LAMBS, ingested
from heddle_assistants.database.schema import users
from heddle_knowledge.collection.types import Collection
from heddle_runtime.errors import ToolFailedError
from heddle_runtime.storage.database.engine import open_database
from knowledge.serving import knowledge_stub
from sqlalchemy import select
from tools_service.serving import discovering, said, serving, text_of

LAMB_KEYS: dict[str, dict[str, Any]] = {
    "lamb": {
        "subject": "lamb",
        "organization": "uni",
        "scopes": ["organization_admin"],
        "trusted": True,
    },
    "untrusted": {"subject": "lamb", "organization": "uni", "scopes": ["organization_admin"]},
    "plain": {"subject": "lamb", "organization": "uni", "scopes": ["creator"], "trusted": True},
    "everywhere": {"subject": "lamb", "scopes": ["admin"], "trusted": True},
}


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelves]:
    async with shelves(tmp_path, LAMB_KEYS) as running:
        yield running


async def numbers(shelf: Shelves) -> dict[str, str]:
    """Create Ana, Ben, Zoe (disabled) and Eve of another organisation; return their numbers."""
    for slug, email, disabled in (
        ("uni", "ana@example.org", False),
        ("uni", "ben@example.org", False),
        ("uni", "zoe@example.org", True),
        ("college", "eve@example.com", False),
    ):
        await shelf["root"].put(f"/organizations/{slug}", json={"name": slug})
        response = await shelf["root"].put(
            f"/organizations/{slug}/users/{email}",
            json={"role": "creator", "disabled": disabled},
        )
        assert response.status_code in {200, 201}, response.text
    async with open_database(shelf.database) as database, database.reading() as it:
        rows = (await it.execute(select(users.c.email, users.c.id))).all()
    return {email.partition("@")[0]: str(number) for email, number in rows}


async def numbered(shelf: Shelves, number: int) -> Collection:
    """Return the stored collection with a number."""
    stored = await shelf.store.collections.all()
    return next(each for each in stored.values() if each.former_id == str(number))


async def owner(shelf: Shelves, key: str, number: str) -> tuple[str, str]:
    """Return whom a new collection belongs to: the subject and the organisation."""
    new = {**LAMBS, "name": f"{key} {number}", "owner": number}
    response = await shelf[key].post("/collections", json=new)
    assert response.status_code == 201, response.text
    assert response.json()["owner"] == number
    collection = await numbered(shelf, response.json()["id"])
    return collection.owner, collection.organization


async def test_a_collection_belongs_to_the_user_with_lambs_number(
    shelf: Shelves,
) -> None:
    of = await numbers(shelf)
    assert await owner(shelf, "lamb", of["ana"]) == ("ana@example.org", "uni")
    assert await owner(shelf, "everywhere", of["ana"]) == ("ana@example.org", "uni")
    assert await owner(shelf, "everywhere", of["eve"]) == ("eve@example.com", "college")


async def test_only_a_trusted_key_of_an_administrator_creates_for_others(
    shelf: Shelves,
) -> None:
    of = await numbers(shelf)
    for key, number in (
        *(("untrusted", of["ana"]), ("plain", of["ana"]), ("lamb", of["eve"])),
        *(("lamb", "999999999999999999"), ("lamb", "9" * 40), ("lamb", "ana@example.org")),
    ):
        assert await owner(shelf, key, number) == ("lamb", "uni")
    refused = await shelf["lamb"].post("/collections", json={**LAMBS, "owner": of["zoe"]})
    assert refused.status_code == 403
    headers = {"X-OpenWebUI-User-Email": "ben@example.org"}
    for_ben = {**LAMBS, "owner": of["ana"]}
    response = await shelf["lamb"].post("/collections", json=for_ben, headers=headers)
    collection = await numbered(shelf, response.json()["id"])
    assert collection.owner == "ben@example.org"
    await shelf["root"].put("/organizations/uni/users/ana@example.org", json={"role": "member"})
    refused = await shelf["lamb"].post("/collections", json={**LAMBS, "owner": of["ana"]})
    assert (refused.status_code, "manage_collections" in refused.text) == (403, True)


async def test_the_assistants_of_its_owner_search_a_collection_that_lamb_fills(
    shelf: Shelves,
) -> None:
    of = await numbers(shelf)
    response = await shelf["lamb"].post("/collections", json={**LAMBS, "owner": of["ana"]})
    identifier = response.json()["id"]
    file = await ingested(shelf, f"/collections/{identifier}", "sheds.md", "A shed.", key="lamb")
    for key, status in (("lamb", 200), ("ana", 200), ("ben", 404), ("eve", 404)):
        assert (await shelf[key].get(file["file_url"])).status_code == status
    async with (
        knowledge_stub(shelf.store) as knowledge,
        serving(discovering(None), knowledge=knowledge) as client,
    ):
        config = {"collections": [identifier]}
        ana = said("shed?", owner="ana@example.org", organization="uni")
        _, result = await client.run("simple_rag", config, ana, seconds=30)
        assert "A shed." in text_of(result)
        ben = said("shed?", owner="ben@example.org", organization="uni")
        with pytest.raises(ToolFailedError, match="there is no collection"):
            await client.run("simple_rag", config, ben, seconds=30)


async def test_lamb_goes_on_using_the_number_of_a_copied_collection(
    shelf: Shelves,
) -> None:
    await numbers(shelf)
    await shelf.store.collections.create(
        "optics-1",
        title="optics",
        owner="ana@example.org",
        organization="uni",
        settings={"collection_id": "17"},
        metadata={"lamb_owner": "7"},
    )
    file = await ingested(shelf, "/collections/17", "lens.md", "A lens bends light.", key="lamb")
    for key in ("lamb", "everywhere", "ana"):
        collection = (await shelf[key].get("/collections/17")).json()
        assert (collection["id"], collection["owner"]) == (17, "7")
        listed = (await shelf[key].get("/collections", params={"owner": "7"})).json()
        assert [each["id"] for each in listed["items"]] == [17]
        query = {"query_text": "lens"}
        answer = (await shelf[key].post("/collections/17/query", json=query)).json()
        [result] = answer["results"]
        assert (await shelf[key].get(result["metadata"]["file_url"])).status_code == 200
        job = (await shelf[key].get(f"/collections/17/ingestion-jobs/{file['id']}")).json()
        assert (job["collection_id"], job["status"]) == (17, "completed")
    for key in ("ben", "eve"):
        assert (await shelf[key].get("/collections/17")).status_code == 404
