"""`/collections`: Heddle as the knowledge-base server of LAMB, and of another Heddle."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from gateway.shelves import SHARED_LOOP, Shelves
from heddle_knowledge.collection.access import Owner
from heddle_migration_service.searches.client import KnowledgeServer
from knowledge.serving import knowledge_stub
from tools_service.serving import discovering, said, serving, text_of

LAMBS = {"name": "weaving_course", "description": "Looms.", "owner": "7", "visibility": "private"}

pytestmark = pytest.mark.asyncio(loop_scope=SHARED_LOOP)


@pytest.fixture
def shelf(shelves_of_new_people: Shelves) -> Shelves:
    return shelves_of_new_people


async def new_collection(shelf: Shelves, person: str = "ana", **changes: Any) -> str:
    """Make a collection as LAMB does and return its path."""
    response = await shelf[person].post("/collections", json={**LAMBS, **changes})
    assert response.status_code == 201, response.text
    return f"/collections/{response.json()['id']}"


async def ingested(
    shelf: Shelves,
    path: str,
    name: str,
    text: str,
    key: str = "ana",
    plugin: str = "simple_ingest",
) -> dict[str, Any]:
    """Ingest a file as LAMB does, and wait for it."""
    form = {"plugin_name": plugin, "plugin_params": "{}"}
    response = await shelf[key].post(
        f"{path}/ingest-file", data=form, files={"file": (name, text.encode())}
    )
    assert response.status_code == 200, response.text
    assert response.json()["status"] == "processing"
    async with asyncio.timeout(20):
        while True:
            files: list[dict[str, Any]] = (await shelf[key].get(f"{path}/files")).json()
            [file] = [each for each in files if each["original_filename"] == name]
            if file["status"] != "processing":
                return file
            await asyncio.sleep(0.02)


async def test_lamb_creates_a_collection(shelf: Shelves) -> None:
    announced = {"external_id": "1", "name": "Uni"}
    assert (await shelf["ana"].post("/organizations/", json=announced)).status_code == 200
    new = {"organization_external_id": "1", "embeddings_setup_key": "default"}
    path = await new_collection(shelf, **new)
    collection = (await shelf["ana"].get(path)).json()
    assert {name: collection[name] for name in LAMBS} == LAMBS
    assert collection["creation_date"].startswith("20")
    assert not collection["embeddings_model"]["apikey_configured"]
    other = await new_collection(shelf, owner="8", language="sv")
    listed = (await shelf["ana"].get("/collections", params={"owner": "7"})).json()
    assert (listed["total"], listed["items"]) == (1, [collection])
    assert (await shelf["ana"].get("/collections?limit=1&skip=1")).json()["total"] == 2
    edited = await shelf["ana"].patch(other, json={"name": "reeds", "visibility": "public"})
    assert (edited.json()["name"], edited.json()["visibility"]) == ("reeds", "public")
    assert (edited.json()["owner"], edited.json()["description"]) == ("8", "Looms.")
    assert (collection["language"], edited.json()["language"]) == ("en", "sv")
    german = await shelf["ana"].patch(other, json={"language": "de"})
    assert german.json()["language"] == "de"
    assert (await shelf["ana"].delete(other)).status_code == 200
    assert (await shelf["ana"].get(other)).status_code == 404


async def test_a_file_is_ingested_found_and_deleted(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    text = "# Sheds\n\nA shed is a gap.\n\nIt opens."
    file = await ingested(shelf, path, "sheds.md", text)
    assert (file["status"], file["file_size"]) == ("completed", len(text))
    search = {"query_text": "shed", "top_k": 1, "threshold": 0.0, "plugin_params": {}}
    answer = (await shelf["ana"].post(f"{path}/query", json=search)).json()
    assert (answer["count"], answer["query"]) == (1, "shed")
    assert answer["timing"]["total_ms"] == pytest.approx(answer["timing"]["total_seconds"] * 1e3)
    [result] = answer["results"]
    assert result["data"].startswith("A shed is a gap.")
    assert -1 <= result["similarity"] <= 1
    metadata = result["metadata"]
    assert metadata["filename"] == "sheds.md"
    assert (metadata["original_filename"], metadata["chunk_index"]) == ("sheds.md", 0)
    assert "parent_text" not in metadata
    assert metadata["file_url"] == metadata["original_file_url"] == file["file_url"]
    for person, status in (("ana", 200), ("head", 200), ("eve", 404)):
        content = await shelf[person].get(metadata["file_url"])
        assert content.status_code == status
        assert (content.text == text) == (status == 200)
    assert (await shelf["ana"].delete(f"{path}/files/{file['id']}")).status_code == 200
    assert (await shelf["ana"].post(f"{path}/query", json=search)).json()["results"] == []


async def test_parent_child_query_returns_the_section_as_data(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    sentences = " ".join(f"Sentence {number} is about warps and wefts." for number in range(60))
    section = f"{sentences} A shed is a gap. {sentences}"
    await ingested(shelf, path, "sheds.md", f"# Sheds\n\n{section}")
    query = {"query_text": "What is a shed?", "top_k": 1}
    texts: dict[str, str] = {}
    for name, parameters in (
        ("simple_query", {}),
        ("parent_child_query", {}),
        ("parent_child_query", {"return_parent_context": False}),
    ):
        response = await shelf["ana"].post(
            f"{path}/query?plugin_name={name}", json={**query, "plugin_params": parameters}
        )
        [result] = response.json()["results"]
        texts[f"{name} {parameters}"] = result["data"]
    passage, parent, child = texts.values()
    assert child == passage
    assert passage in parent
    assert len(parent) > len(passage)


async def test_a_file_can_name_each_plugin_that_reads_files(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    plugins = (await shelf["ana"].get("/ingestion/plugins")).json()
    readers = [each["name"] for each in plugins if each["kind"] == "file-ingest"]
    assert len(readers) == 4
    for name in readers:
        await ingested(shelf, path, f"{name}.txt", "A shed.", plugin=name)
    for address in (f"{path}/files", f"{path}/ingestion-jobs"):
        listed = (await shelf["ana"].get(address)).json()
        files = listed if isinstance(listed, list) else listed["items"]
        assert {f"{each['plugin_name']}.txt" for each in files} == {
            each["original_filename"] for each in files
        }
    form = {"plugin_name": "magic_ingest"}
    upload = {"file": ("a.txt", b"A shed.")}
    refused = await shelf["ana"].post(f"{path}/ingest-file", data=form, files=upload)
    assert refused.status_code == 400


async def test_an_owner_has_one_collection_of_a_name(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    again = await shelf["ana"].post("/collections", json=LAMBS)
    assert again.status_code == 409, again.text
    assert again.json()["detail"] == "The owner '7' has a collection 'weaving_course' already."
    await new_collection(shelf, owner="8")
    assert (await shelf["ana"].patch(path, json={"name": "reeds"})).status_code == 200
    await new_collection(shelf)
    responses = await asyncio.gather(
        *(shelf["ana"].post("/collections", json={**LAMBS, "owner": "9"}) for _ in range(5))
    )
    assert sorted(each.status_code for each in responses) == [201, 409, 409, 409, 409]


async def test_a_file_that_another_collection_has_stays(shelf: Shelves) -> None:
    files, stores = shelf.openai["ana"].files, shelf.openai["ana"].vector_stores
    path = await new_collection(shelf)
    file = await ingested(shelf, path, "a.txt", "A shed.")
    [stored] = [each.id async for each in files.list()]
    other = await stores.create(name="Other", file_ids=[stored])
    await shelf["ana"].delete(f"{path}/files/{file['id']}")
    await shelf["ana"].delete(path)
    assert [each.id async for each in files.list()] == [stored]
    await shelf["ana"].delete(f"/collections/{other.id}")
    assert [each async for each in files.list()] == []


async def test_no_file_is_left_over(shelf: Shelves) -> None:
    files = shelf.openai["ana"].files
    path = await new_collection(shelf)
    file = await ingested(shelf, path, "a.txt", "A shed.")
    await ingested(shelf, path, "b.txt", "A reed.")
    await shelf["ana"].delete(f"{path}/files/{file['id']}")
    assert len([each async for each in files.list()]) == 1
    await shelf["ana"].delete(path)
    assert [each async for each in files.list()] == []
    theirs = await shelf["root"].post("/v1/vector_stores", json={"name": "Looms"})
    shared = await shelf.store.collections.get(theirs.json()["id"][3:])
    await shelf.store.collections.change(replace(shared, sharing="everyone"))
    upload = {"file": ("a.md", b"x")}
    refused = await shelf["ana"].post("/collections/Looms/ingest-file", files=upload)
    assert refused.status_code == 403, refused.text
    assert [each async for each in files.list()] == []
    await shelf.store.collections.delete(shared.name)


async def test_the_plugins_own_parameters_come_first(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    for name in ("a.txt", "b.txt"):
        await ingested(shelf, path, name, f"A shed of {name}.")
    search = {"query_text": "shed", "top_k": 5, "plugin_params": {"top_k": 1}}
    assert (await shelf["ana"].post(f"{path}/query", json=search)).json()["count"] == 1
    search = {"query_text": "shed", "plugin_params": {"threshold": 1.0}}
    assert (await shelf["ana"].post(f"{path}/query", json=search)).json()["count"] == 0


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/query", {"query_text": ""}, 400),
        ("/query", {}, 400),
        ("/query", {"query_text": "?", "top_k": 0}, 400),
        ("/query", {"query_text": "?", "threshold": "high"}, 400),
        ("/query?plugin_name=magic", {"query_text": "?"}, 404),
    ],
)
async def test_a_wrong_question_is_refused_where_lamb_looks(
    shelf: Shelves, path: str, body: dict[str, Any], status: int
) -> None:
    response = await shelf["ana"].post(await new_collection(shelf) + path, json=body)
    assert response.status_code == status, response.text
    assert response.json()["detail"] == response.json()["error"]["message"]


async def test_anothers_collection_is_not_there(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    eve = shelf["eve"]
    search = {"query_text": "?"}
    file = {"file": ("a.md", b"x")}
    for response in (
        await eve.get(path),
        await eve.patch(path, json={"name": "mine"}),
        await eve.delete(path),
        await eve.get(f"{path}/files"),
        await eve.post(f"{path}/ingest-file", files=file),
        await eve.post(f"{path}/query", json=search),
    ):
        assert response.status_code == 404, response.text
    assert (await eve.get("/collections")).json() == {"total": 0, "items": []}
    assert [each async for each in shelf.openai["eve"].files.list()] == []
    unknown = {"authorization": "Bearer 0p3n-w3bu!"}
    assert (await eve.get("/collections", headers=unknown)).status_code == 401


@pytest.mark.parametrize("tool", ["simple_rag", "hierarchical_rag"])
async def test_the_tools_of_heddle_search_another_heddle(shelf: Shelves, tool: str) -> None:
    path = await new_collection(shelf)
    await ingested(shelf, path, "sheds.md", "# Sheds\n\nA shed is a gap.")
    server = KnowledgeServer(shelf.url, shelf.key_of("ana"))

    async def server_of(_: Owner) -> KnowledgeServer:
        return server

    async with (
        knowledge_stub(shelf.store, server_of=server_of) as knowledge,
        serving(discovering(None), knowledge=knowledge) as client,
    ):
        config = {"collections": [path.rpartition("/")[2]]}
        # The assistant's owner may not read the collection here: the key may, over there.
        asker = said("What is a shed?", owner="eve@example.com", organization="college")
        _, result = await client.run(tool, config, asker, seconds=30)
    assert "A shed is a gap." in text_of(result)
    assert not result.warnings
    assert result.sources[0].title == "sheds.md"
