"""`RunMigration` with `knowledge`: collections of a LAMB knowledge-base server, copied."""

import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle.migration.v1 import migration_pb2 as pb
from migration.knowledge.importing import ANA, BO, CY, Import, importing
from migration.knowledge.lamb_kb_server import TOKEN, LambKbServer
from migration.lamb.lamb_database import Lamb

NOT_FOUND = grpc.StatusCode.NOT_FOUND.value[0]
COLLECTIONS, FILES = "kb_collections", "kb_files"


@pytest.fixture
async def heddle(tmp_path: Path, lamb: Lamb, kb: LambKbServer) -> AsyncIterator[Import]:
    async with importing(tmp_path, lamb, kb.url, TOKEN) as services:
        yield services


async def collection(heddle: Import, reference: str) -> knowledge_pb2.Collection:
    request = knowledge_pb2.GetCollectionRequest(name=reference)
    response = await heddle.ask(BO, "GetCollection", request)
    return response.collection  # type: ignore[no-any-return] # of any method


async def test_collections_are_copied_with_files_owners_and_identifiers(
    heddle: Import, kb: LambKbServer
) -> None:
    report = await heddle.run()

    assert report.counts[COLLECTIONS] == (3, 2, 0, 1)
    assert report.counts[FILES] == (5, 5, 0, 0)
    assert (
        report.error(COLLECTIONS, 9)
        == "Its owner '999' is no user of the organisations of this server."
    )
    assert report.left_behind[FILES] == (1, "Files that LAMB could not read.")
    assert "5 of 5" not in report.notes(COLLECTIONS, 17)
    assert report.notes(COLLECTIONS, 17).startswith("4 of 4 files are in the collection, with 4 ")
    slides, page = (" ".join(report.findings[FILES][f"17/{it}"].notes) for it in (3, 4))
    assert "LAMB's text of it is copied instead" in slides
    assert page.startswith("LAMB's server does not have the file.")

    optics = await collection(heddle, "17")
    assert (optics.owner, optics.organization, optics.title) == (BO.subject, "physics", "Optics")
    assert dict(optics.metadata) == {
        "lamb_owner": "3",
        "lamb_description": "About optics.",
        "lamb_visibility": "private",
        "lamb_server": kb.url,
    }
    assert optics.sharing == knowledge_pb2.SHARING_PRIVATE
    documents = {it.name: it for it in await heddle.store.documents.all(optics.id[3:])}
    assert set(documents) == {
        "lenses.md",
        "prism.txt",
        "slides.pptx.md",
        "light.example-speed.md",
    }
    lenses = documents["lenses.md"]
    assert lenses.sha256 == hashlib.sha256(b"# Lenses\n\nA lens bends light.").hexdigest()
    assert documents["prism.txt"].metadata["lamb_plugin"] == "markitdown_ingest"
    source = documents["light.example-speed.md"].metadata["source_url"]
    assert source == "https://light.example/speed"
    assert {name: it.uri for name, it in documents.items()} == {
        "lenses.md": "https://kb.public.example/static/7/kb%2017/1.bin",
        "prism.txt": "https://kb.public.example/static/7/kb%2017/2.bin",
        "slides.pptx.md": "https://kb.public.example/static/7/kb%2017/3.bin",
        "light.example-speed.md": "https://light.example/speed",
    }
    assert documents["slides.pptx.md"].metadata["filename"] == "slides.pptx"
    request = files_pb2.ListFilesRequest()
    assert len((await heddle.ask(BO, "ListFiles", request)).files) == 4
    assert heddle.embedder.embedded == 5


async def test_only_its_owner_searches_a_collection_that_lamb_does_not_share(
    heddle: Import,
) -> None:
    await heddle.run()
    texts = await heddle.search(BO, "17", "a lens bends light")
    assert isinstance(texts, list)
    assert texts[0] == "A lens bends light."
    for person in (ANA, CY):
        assert await heddle.search(person, "17", "lens") == NOT_FOUND


@pytest.mark.exhaustive
async def test_another_import_copies_only_what_is_new(heddle: Import, kb: LambKbServer) -> None:
    await heddle.run()
    before = await heddle.state()
    requests = len(kb.requests)
    again = await heddle.run()
    assert again.counts[COLLECTIONS] == (3, 0, 2, 1)
    assert again.counts[FILES] == (5, 0, 5, 0)
    assert await heddle.state() == before
    assert not [each for each in kb.requests[requests:] if "/static/" in each]

    kb.add_file(17, "new.md", b"New light.")
    third = await heddle.run()
    assert third.counts[FILES] == (6, 1, 5, 0)
    assert "new.md" in str(await heddle.state())


async def test_a_dry_run_counts_and_writes_nothing(heddle: Import) -> None:
    dry = await heddle.run(dry_run=True)
    assert dry.counts[COLLECTIONS] == (3, 2, 0, 1)
    assert dry.counts[FILES] == (5, 5, 0, 0)
    assert await heddle.state() == [[], [[], []]]
    await heddle.run()
    dry = await heddle.run(dry_run=True)
    assert dry.counts[FILES] == (5, 0, 5, 0)


@pytest.mark.exhaustive
async def test_a_file_that_arrives_in_part_is_refused_and_copied_later(
    heddle: Import, kb: LambKbServer
) -> None:
    [path] = [path for path, data in kb.stored.items() if b"prism" in data]
    whole, kb.stored[path] = kb.stored[path], b"A prism"
    first = await heddle.run()
    assert first.counts[FILES] == (5, 4, 0, 1)
    assert "sent 7 bytes of 21" in first.findings[FILES]["17/2"].error.message
    kb.stored[path] = whole
    second = await heddle.run()
    assert second.counts[FILES] == (5, 1, 4, 0)


@pytest.mark.exhaustive
async def test_a_file_on_its_way_in_lamb_is_copied_later(heddle: Import, kb: LambKbServer) -> None:
    kb.files["2"][0]["status"] = "processing"
    first = await heddle.run()
    assert "'processing'" in first.findings[FILES]["2/6"].error.message
    kb.files["2"][0]["status"] = "completed"
    assert (await heddle.run()).counts[FILES] == (5, 1, 4, 0)


@pytest.mark.exhaustive
async def test_a_request_that_fails_for_a_moment_is_repeated(
    heddle: Import, kb: LambKbServer
) -> None:
    kb.failures = {0: 503, 3: 500, 6: 429}
    report = await heddle.run()
    assert report.counts[FILES] == (5, 5, 0, 0)


async def test_a_server_that_refuses_the_key_says_what_to_set(
    tmp_path: Path, lamb: Lamb, kb: LambKbServer
) -> None:
    async with importing(tmp_path, lamb, kb.url, "another-key-entirely") as heddle:
        report = await heddle.run()
    assert report.counts[COLLECTIONS] == (1, 0, 0, 1)
    [finding] = report.findings[COLLECTIONS].values()
    assert "HEDDLE_MIGRATION_LAMB_KB_TOKEN" in finding.error.message
    assert TOKEN not in str(finding)


@pytest.mark.exhaustive
async def test_collections_that_no_server_has_are_named(
    heddle: Import, lamb: Lamb, kb: LambKbServer
) -> None:
    lamb.add("kb_registry", {"id": 8, "kb_id": "88", "kb_name": "Gone"})
    heddles = f"vs_{'0' * 32}"  # which LAMB has created at Heddle
    lamb.add("kb_registry", {"id": 10, "kb_id": heddles, "kb_name": "Here"})
    kb.add(7, "mine", "1", id=heddles)
    report = await heddle.run()
    assert report.error(COLLECTIONS, 88) == "LAMB's server does not have it."
    assert heddles not in report.findings[COLLECTIONS]
    assert report.counts[COLLECTIONS] == (4, 2, 0, 2)


async def test_an_import_without_a_server_says_what_to_set(tmp_path: Path, lamb: Lamb) -> None:
    async with importing(tmp_path, lamb, "") as heddle:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await heddle.run()
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "HEDDLE_MIGRATION_LAMB_KB_URL" in str(refused.value.details())


@pytest.mark.exhaustive
async def test_language_and_model_of_new_collections_are_chosen(heddle: Import) -> None:
    await heddle.run(knowledge=pb.KnowledgeImport(language="es", embedding_model="hashed-words"))
    optics = await collection(heddle, "17")
    assert (optics.language, optics.embedding_model) == ("es", "hashed-words")


async def test_a_server_of_an_organisation_is_read_with_its_key_where_that_is_allowed(
    tmp_path: Path, lamb: Lamb, kb: LambKbServer
) -> None:
    config = json.dumps({"kb_server": {"url": f"{kb.url}/", "api_key": TOKEN}})
    with lamb.open() as connection:
        connection.execute("UPDATE LAMB_organizations SET config = ? WHERE id = 7", (config,))
        connection.commit()
    async with importing(tmp_path, lamb, "") as heddle:
        report = await heddle.run()
    reasons = {each.error.message for each in report.findings[COLLECTIONS].values()}
    assert any("HEDDLE_ALLOWED_PRIVATE_NETWORKS" in reason for reason in reasons)
    assert kb.requests == []
    network = {"HEDDLE_ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8"}
    async with importing(tmp_path, lamb, "", **network) as heddle:
        report = await heddle.run()
        assert (await collection(heddle, "17")).owner == BO.subject
    assert report.counts[FILES] == (4, 4, 0, 0)
    reason = "Its organisation has no knowledge-base server."
    assert report.error(COLLECTIONS, 2) in {
        reason,
        "Its owner '1' is no user of the organisations of this server.",
    }
