"""What `/v1/vector_stores` has beyond OpenAI's form: passages, pages, ranks, counts, sharing."""

import asyncio
from typing import Any

import pytest
from gateway.shelves import SHARED_LOOP, Shelves
from knowledge.pages.pdfs import pdf

TEXTS = {
    "sheds.md": b"# Sheds\n\nA shed is a gap between threads.\n\n# Reeds\n\nA reed spaces threads.",
    "loom.pdf": pdf("A heddle lifts a thread.", "A shuttle carries the weft."),
    "broken.pdf": b"this is no pdf",
}

pytestmark = pytest.mark.asyncio(loop_scope=SHARED_LOOP)


@pytest.fixture
def shelf(shelves_of_new_people: Shelves) -> Shelves:
    return shelves_of_new_people


async def upload(shelf: Shelves, name: str, data: bytes, key: str = "") -> Any:
    form = {"purpose": "assistants", "upload_key": key}
    return await shelf["ana"].post("/v1/files", files={"file": (name, data)}, data=form)


async def filled(shelf: Shelves, **options: Any) -> tuple[str, dict[str, str]]:
    """Make a store of Ana's with all texts, wait for them, and return the identifiers."""
    response = await shelf["ana"].post("/v1/vector_stores", json={"name": "Looms", **options})
    store = response.json()["id"]
    files = {}
    for name, data in TEXTS.items():
        files[name] = (await upload(shelf, name, data)).json()["id"]
        path = f"/v1/vector_stores/{store}/files"
        await shelf["ana"].post(path, json={"file_id": files[name]})
        for _ in range(500):
            state = (await shelf["ana"].get(f"{path}/{files[name]}")).json()["status"]
            if state != "in_progress":
                break
            await asyncio.sleep(0.02)
    return store, files


async def test_an_upload_with_the_same_key_is_stored_once(shelf: Shelves) -> None:
    first = await upload(shelf, "a.md", b"one", "key")
    again = await upload(shelf, "a.md", b"one", "key")
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    other = await upload(shelf, "a.md", b"two", "key")
    assert (other.status_code, other.json()["error"]["code"]) == (409, "already_exists")
    too_long = await upload(shelf, "a.md", b"one", "k" * 2049)
    assert too_long.status_code == 400
    assert len((await shelf["ana"].get("/v1/files")).json()["data"]) == 1


async def test_concurrent_uploads_with_one_key_are_stored_once(shelf: Shelves) -> None:
    answers = await asyncio.gather(*(upload(shelf, "a.md", b"one", "key") for _ in range(5)))
    assert {each.json()["id"] for each in answers} == {answers[0].json()["id"]}
    assert len((await shelf["ana"].get("/v1/files")).json()["data"]) == 1


async def test_passages_are_listed_in_pages_with_their_places(shelf: Shelves) -> None:
    store, files = await filled(shelf)
    path = f"/v1/vector_stores/{store}/files/{files['sheds.md']}/passages"
    first = (await shelf["ana"].get(path, params={"page_size": 1})).json()
    token = first["next_page_token"]
    second = (await shelf["ana"].get(path, params={"page_size": 1, "page_token": token})).json()
    assert second["next_page_token"] == ""
    passages = first["data"] + second["data"]
    assert [(each["position"], each["headings"], each["page"]) for each in passages] == [
        (0, ["Sheds"], None),
        (1, ["Reeds"], None),
    ]
    assert passages[0]["text"] == "A shed is a gap between threads."
    assert passages[0]["metadata"] == {"file_id": files["sheds.md"]}
    from_second = (await shelf["ana"].get(path, params={"first": 1})).json()
    assert (from_second["data"], from_second["total"]) == ([passages[1]], 2)
    missing = await shelf["ana"].get(path.replace(files["sheds.md"], "file-" + "0" * 32))
    assert missing.status_code == 404


@pytest.mark.exhaustive
async def test_pages_are_listed_with_their_text_and_pictures(shelf: Shelves) -> None:
    store, files = await filled(shelf)
    path = f"/v1/vector_stores/{store}/files"
    pages = (await shelf["ana"].get(f"{path}/{files['loom.pdf']}/pages")).json()
    assert [(each["number"], each["has_image"], each["passages"]) for each in pages["data"]] == [
        (1, True, 1),
        (2, True, 1),
    ]
    assert pages["data"][1]["text"] == "A shuttle carries the weft."
    picture = await shelf["ana"].get(f"{path}/{pages['document_id']}/pages/2")
    assert picture.headers["content-type"] == "image/webp"
    query: dict[str, str | int] = {"page_size": 1}
    first = (await shelf["ana"].get(f"{path}/{files['loom.pdf']}/pages", params=query)).json()
    query["page_token"] = first["next_page_token"]
    rest = (await shelf["ana"].get(f"{path}/{files['loom.pdf']}/pages", params=query)).json()
    assert ([each["number"] for each in rest["data"]], rest["next_page_token"]) == ([2], "")
    second = await shelf["ana"].get(f"{path}/{files['loom.pdf']}/pages", params={"first": 2})
    assert [each["number"] for each in second.json()["data"]] == [2]
    none = (await shelf["ana"].get(f"{path}/{files['sheds.md']}/pages")).json()
    assert none["data"] == []
    stranger = await shelf["eve"].get(f"{path}/{files['loom.pdf']}/pages")
    assert stranger.status_code == 404


@pytest.mark.exhaustive
async def test_a_search_explains_its_ranks(shelf: Shelves) -> None:
    store, files = await filled(shelf)
    path = f"/v1/vector_stores/{store}/search"
    body = {"query": "Which shuttle carries?", "explain": True}
    best, *others = (await shelf["ana"].post(path, json=body)).json()["data"]
    explanation = best["explanation"]
    assert (best["file_id"], explanation["page"]) == (files["loom.pdf"], 2)
    assert explanation["text"]["rank"] == 1
    assert explanation["text"]["score"] > 0
    assert explanation["vector"]["score"] == best["score"]
    assert explanation["has_picture"]
    ranks = sorted(each["explanation"]["vector"]["rank"] for each in [best, *others])
    assert ranks == list(range(1, len(others) + 2))
    assert any(each["explanation"]["text"] is None for each in others)
    fused = [each["explanation"]["fused_score"] for each in [best, *others]]
    assert fused == sorted(fused, reverse=True)
    plain = (await shelf["ana"].post(path, json={"query": "shuttle"})).json()["data"]
    assert all("explanation" not in each for each in plain)


async def test_a_store_tells_its_size_its_owner_and_who_may_change_it(shelf: Shelves) -> None:
    store, _ = await filled(shelf, sharing="organization", page_handling="text")
    counts = (await shelf["ana"].get(f"/v1/vector_stores/{store}/statistics")).json()
    assert (counts["documents"], counts["passages"], counts["pages"]) == (2, 4, 0)
    assert counts["document_bytes"] == len(TEXTS["sheds.md"]) + len(TEXTS["loom.pdf"])
    seen = (await shelf["ben"].get(f"/v1/vector_stores/{store}")).json()
    owner = seen["owner"].removeprefix(f"{shelf.number}-")
    assert (owner, seen["sharing"], seen["editable"], seen["page_handling"]) == (
        "ana@example.org",
        "organization",
        False,
        "text",
    )
    assert seen["file_counts"] == {
        "in_progress": 0,
        "completed": 2,
        "failed": 1,
        "cancelled": 0,
        "total": 3,
    }
    refused = await shelf["ben"].post(f"/v1/vector_stores/{store}", json={"sharing": "private"})
    assert refused.status_code == 403
    everyone = await shelf["ana"].post(f"/v1/vector_stores/{store}", json={"sharing": "everyone"})
    assert everyone.status_code == 403
    hidden = await shelf["ana"].post(f"/v1/vector_stores/{store}", json={"sharing": "private"})
    assert hidden.json()["sharing"] == "private"
    assert (await shelf["ben"].get(f"/v1/vector_stores/{store}")).status_code == 404


async def test_stores_are_searched_and_sorted_by_name(shelf: Shelves) -> None:
    for name in ("Weaving b", "weaving A", "Knitting", "Weaving c"):
        await shelf["ana"].post("/v1/vector_stores", json={"name": name, "sharing": "organization"})
    query: dict[str, str | int] = {"text": "WEAVING", "sort": "name", "order": "asc", "limit": 2}
    page = (await shelf["ana"].get("/v1/vector_stores", params=query)).json()
    assert [each["name"] for each in page["data"]] == ["weaving A", "Weaving b"]
    query["after"] = page["last_id"]
    page = (await shelf["ana"].get("/v1/vector_stores", params=query)).json()
    assert ([each["name"] for each in page["data"]], page["has_more"]) == (["Weaving c"], False)
    others = (await shelf["ben"].get("/v1/vector_stores", params={"editable": "true"})).json()
    assert others["data"] == []


async def test_files_are_searched_filtered_and_sorted(shelf: Shelves) -> None:
    store, files = await filled(shelf)
    path = f"/v1/vector_stores/{store}/files"

    async def listed(**query: Any) -> tuple[list[str], int]:
        page = (await shelf["ana"].get(path, params=query)).json()
        return [each["filename"] for each in page["data"]], page["total"]

    assert await listed(sort="name", order="asc") == (["broken.pdf", "loom.pdf", "sheds.md"], 3)
    assert await listed(sort="size", order="desc", limit=1) == (["loom.pdf"], 3)
    assert await listed(text="PDF", sort="name") == (["loom.pdf", "broken.pdf"], 2)
    assert await listed(filter="failed") == (["broken.pdf"], 1)
    assert await listed(sort="status", order="asc", limit=1) == (["broken.pdf"], 3)
    first = files["broken.pdf"]
    assert await listed(sort="name", order="asc", after=first) == (["loom.pdf", "sheds.md"], 3)
    # A file that is not in the filtered list any more still is a place in it.
    assert await listed(filter="completed", sort="name", order="asc", after=first) == (
        ["loom.pdf", "sheds.md"],
        2,
    )
    assert await listed(sort="name", order="asc", before=files["sheds.md"], limit=1) == (
        ["loom.pdf"],
        3,
    )
    unknown = await shelf["ana"].get(path, params={"after": "file-" + "0" * 32})
    assert unknown.status_code == 400


async def test_a_failed_file_says_why_and_can_be_tried_again(shelf: Shelves) -> None:
    store, files = await filled(shelf)
    path = f"/v1/vector_stores/{store}/files"
    failed = (await shelf["ana"].get(f"{path}/{files['broken.pdf']}")).json()
    assert (failed["status"], failed["last_error"]["code"]) == ("failed", "invalid_file")
    assert "PDF" in failed["last_error"]["message"]
    again = await shelf["ana"].post(path, json={"file_id": files["broken.pdf"]})
    assert again.json()["status"] == "in_progress"


async def test_a_removed_file_is_deleted_unless_another_store_has_it(shelf: Shelves) -> None:
    store, files = await filled(shelf)
    other = (await shelf["ana"].post("/v1/vector_stores", json={"name": "Other"})).json()["id"]
    shared = files["sheds.md"]
    await shelf["ana"].post(f"/v1/vector_stores/{other}/files", json={"file_id": shared})
    for file in (shared, files["loom.pdf"]):
        path = f"/v1/vector_stores/{store}/files/{file}"
        assert (await shelf["ana"].delete(path, params={"delete_file": "true"})).status_code == 200
    assert (await shelf["ana"].get(f"/v1/files/{shared}")).status_code == 200
    assert (await shelf["ana"].get(f"/v1/files/{files['loom.pdf']}")).status_code == 404


async def test_the_options_of_a_new_store_can_be_used(shelf: Shelves) -> None:
    options = (await shelf["ana"].get("/v1/vector_store_options")).json()
    assert options["page_handlings"][:2] == ["text", "pictures"]
    body = {
        "name": "All",
        "language": "es",
        "page_handling": options["page_handlings"][0],
        "chunking_strategy": options["chunking_strategy"],
    }
    response = await shelf["ana"].post("/v1/vector_stores", json=body)
    assert response.status_code == 200, response.text
    assert {name: response.json()[name] for name in body} == body


async def test_a_store_of_another_search_engine_names_a_server_of_the_organisation(
    shelf: Shelves,
) -> None:
    options = (await shelf["ana"].get("/v1/vector_store_options")).json()
    assert options["search_servers"] == []
    place = {"server": "campus", "collection": "Courses", "text": "body"}
    body = {"name": "There", "place": place}
    refused = (await shelf["ana"].post("/v1/vector_stores", json=body)).json()["error"]
    assert (refused["type"], refused["param"]) == ("invalid_request_error", "place.server")
    assert "none" in refused["message"]
    here = (await shelf["ana"].post("/v1/vector_stores", json={"name": "Here"})).json()
    assert (here["backend"], here["place"]) == ("embedded", {})
