"""Uploaded files and ingestion jobs of two replicas, of which one is killed."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest
from assistants.postgres import Postgres
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.errors import AlreadyExistsError, NotFoundError, StorageError
from knowledge.model_server import ModelSite, model_site
from knowledge.replicas.service import (
    CANCELLED,
    COMPLETED,
    IN_PROGRESS,
    Replica,
    requested,
    two_replicas,
)
from patience import until
from runtime.examples import mostly_on
from s3_server import S3Server

pytestmark = pytest.mark.timeout(200)
PREFIX = "uni/heddle"


@dataclass
class Pair:
    """Two replicas and their model."""

    first: Replica
    second: Replica
    site: ModelSite


@pytest.fixture
def settings(request: pytest.FixtureRequest) -> dict[str, str]:
    """Where bytes of files are: in the database, or in an object store."""
    if getattr(request, "param", "rows") == "rows":
        return {}
    server: S3Server = request.getfixturevalue("object_server")
    return server.settings(PREFIX)


@pytest.fixture
async def pair(tmp_path: Path, database: str, settings: dict[str, str]) -> AsyncIterator[Pair]:
    """Two replicas that share a database."""
    async with (
        model_site() as site,
        two_replicas(tmp_path, database, site, **settings) as (first, second),
    ):
        yield Pair(first, second, site)


@pytest.mark.exhaustive
@mostly_on("settings", "objects", "rows")
async def test_a_file_of_a_replica_that_was_killed_is_served_by_the_other_one(
    pair: Pair, settings: dict[str, str], object_server: S3Server
) -> None:
    text = "Threads of a loom. " * 50_000
    identifier = await pair.first.upload("shed.md", text, key="once")
    pair.first.kill()

    other = pair.second
    file = (await other.call("GetFile", id=identifier)).file
    assert (file.filename, file.size) == ("shed.md", len(text))
    assert (await other.call("GetFileContent", id=identifier)).data == text.encode()
    assert [each.id for each in (await other.call("ListFiles")).files] == [identifier]
    assert await other.upload("shed.md", text, key="once") == identifier
    with pytest.raises(AlreadyExistsError):
        await other.upload("shed.md", "Another text.", key="once")
    assert len(object_server.keys(PREFIX)) == bool(settings)
    await other.call("DeleteFile", id=identifier)
    assert object_server.keys(PREFIX) == []
    with pytest.raises(NotFoundError):
        await other.call("GetFileContent", id=identifier)


@pytest.mark.exhaustive
async def test_uploads_of_one_key_at_two_replicas_at_once_are_one_file(pair: Pair) -> None:
    replicas = [pair.first, pair.second] * 5
    identifiers = await asyncio.gather(
        *(each.upload("shed.md", "Threads.", key="once") for each in replicas)
    )
    assert len(set(identifiers)) == 1
    assert len((await pair.first.call("ListFiles")).files) == 1


@pytest.mark.exhaustive
async def test_a_job_of_a_replica_that_was_killed_is_completed_by_the_other_one(
    pair: Pair,
) -> None:
    pair.site.delay = 60
    identifier = await pair.first.upload("shed.md", "Threads of a loom.")
    await asyncio.gather(requested(pair.site), pair.first.attach(identifier))
    assert (await pair.second.attached(identifier)).status == IN_PROGRESS
    pair.first.kill()
    pair.site.delay = 0

    file = await pair.second.ended(identifier)
    assert (file.status, file.error) == (COMPLETED, "")
    assert await pair.second.passages("loom") == ["Threads of a loom."]


@pytest.mark.exhaustive
async def test_jobs_are_done_once_and_by_both_replicas(pair: Pair) -> None:
    texts = [f"Threads of loom {number}." for number in range(30)]
    identifiers = [
        await pair.first.upload(f"{number}.md", text) for number, text in enumerate(texts)
    ]
    files = [pb.BatchedFile(file_id=each) for each in identifiers]
    await pair.first.call("CreateFileBatch", collection="looms", files=files)
    ends = [await pair.second.ended(each) for each in identifiers]
    assert {each.status for each in ends} == {COMPLETED}
    embedded = [text for body in pair.site.bodies for text in body["input"]]
    assert sorted(text for text in embedded if text in texts) == sorted(texts)


@pytest.mark.exhaustive
async def test_jobs_of_a_batch_survive_the_replica_that_accepted_them(pair: Pair) -> None:
    pair.site.delay = 1
    identifiers = [await pair.first.upload(f"{n}.md", f"Loom {n}.") for n in range(30)]
    files = [pb.BatchedFile(file_id=each) for each in identifiers]
    response = await pair.first.call("CreateFileBatch", collection="looms", files=files)
    pair.first.kill()
    pair.site.delay = 0

    ends = [await pair.second.ended(each) for each in identifiers]
    assert {(each.status, each.error) for each in ends} == {(COMPLETED, "")}
    fields = {"collection": "looms", "batch_id": response.batch.id}
    batch = (await pair.second.call("GetFileBatch", **fields)).batch
    assert batch.completed_count == len(identifiers)


@pytest.mark.exhaustive
async def test_the_progress_of_a_job_is_visible_at_the_other_replica_while_it_runs(
    pair: Pair,
) -> None:
    pair.site.delay = 60
    identifier = await pair.first.upload("shed.md", "Threads of a loom.")
    await asyncio.gather(requested(pair.site), pair.first.attach(identifier))
    async with asyncio.timeout(30):
        while (own := await pair.first.attached(identifier)) != (
            await pair.second.attached(identifier)
        ) or not own.progress.total:
            await asyncio.sleep(0.05)
    assert own.HasField("start_time")
    files = (await pair.second.call("ListAttachedFiles", collection="looms")).files
    assert list(files) == [own]
    pair.first.kill()
    pair.site.delay = 0
    file = await pair.second.ended(identifier)
    assert (file.status, file.HasField("progress")) == (COMPLETED, False)
    assert file.start_time.ToMicroseconds() > own.start_time.ToMicroseconds()


@pytest.mark.exhaustive
async def test_a_job_is_cancelled_and_its_file_detached_and_deleted_at_the_other_replica(
    pair: Pair,
) -> None:
    pair.site.delay = 60
    identifier = await pair.first.upload("shed.md", "Threads of a loom.")
    await asyncio.gather(requested(pair.site), pair.first.attach(identifier))
    fields = {"collection": "looms", "file_id": identifier}
    file = (await pair.second.call("CancelAttachedFile", **fields)).file
    assert file.status == CANCELLED
    assert (await pair.first.attached(identifier)).status == CANCELLED

    await asyncio.gather(requested(pair.site), pair.first.attach(identifier))
    await pair.second.call("DetachFile", **fields)
    with pytest.raises(NotFoundError):
        await pair.first.attached(identifier)

    await asyncio.gather(requested(pair.site), pair.first.attach(identifier))
    await pair.second.call("DeleteFile", id=identifier)
    pair.site.delay = 0
    with pytest.raises(NotFoundError):
        await pair.first.attached(identifier)
    assert await pair.second.passages("loom") == []


@pytest.mark.exhaustive
async def test_files_of_one_name_that_two_replicas_attach_at_once_have_documents_of_their_own(
    pair: Pair,
) -> None:
    replicas = [pair.first, pair.second] * 5
    identifiers = [await pair.first.upload("shed.md", f"Loom {n}.") for n in range(len(replicas))]
    await asyncio.gather(*(each.attach(it) for each, it in zip(replicas, identifiers, strict=True)))
    ends = [await pair.second.ended(each) for each in identifiers]
    assert {each.status for each in ends} == {COMPLETED}
    assert len(await pair.second.passages("Loom")) == 9


@pytest.mark.exhaustive
@pytest.mark.parametrize(("attempts", "is_read"), [(1, True), (2, False)])
async def test_a_file_during_which_replicas_died_twice_fails(
    pair: Pair, database: str, attempts: int, is_read: bool
) -> None:
    pair.site.delay = 60
    identifier = await pair.first.upload("shed.md", "Threads of a loom.")
    await asyncio.gather(requested(pair.site), pair.first.attach(identifier))
    connection = await asyncpg.connect(database)
    # As replicas leave it that were killed while they read the file.
    await connection.execute("UPDATE heddle_knowledge.attached_files SET attempts = $1", attempts)
    await connection.close()
    pair.first.kill()
    pair.site.delay = 0

    file = await pair.second.ended(identifier)
    assert (file.status == COMPLETED) is is_read
    assert ("stopped twice" in file.error) is not is_read
    files = (await pair.second.call("ListAttachedFiles", collection="looms")).files
    assert [each.error for each in files] == [file.error]
    await pair.second.attach(identifier)
    assert (await pair.second.ended(identifier)).status == COMPLETED


@pytest.mark.exhaustive
async def test_a_job_is_completed_after_the_database_was_away(
    pair: Pair, vector_server: Postgres, database: str
) -> None:
    name = vector_server.name(database)
    pair.site.delay = 60
    identifier = await pair.first.upload("shed.md", "Threads of a loom.")
    await asyncio.gather(requested(pair.site), pair.first.attach(identifier))
    vector_server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    vector_server.execute(
        "DO $$ BEGIN PERFORM pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE datname = '{name}'; END $$"
    )
    try:
        with pytest.raises(StorageError):
            await pair.second.call("ListFiles")
        log = pair.first.folder / "log"
        await until(lambda: log.read_text().count("leases not renewed") > 1)
        pair.site.delay = 0
    finally:
        vector_server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")

    assert (await pair.second.ended(identifier)).status == COMPLETED
    assert await pair.second.passages("loom") == ["Threads of a loom."]
