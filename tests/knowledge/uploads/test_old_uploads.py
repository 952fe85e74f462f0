"""Uploaded files that organisations do not want stored any longer."""

import asyncio
import json
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from assistants.audit.reading import events
from assistants.postgres import Postgres
from assistants.serving import ADMIN, Service
from assistants.serving import serving as assistants_serving
from assistants.stored import LEGACY, keep
from heddle.account.v1 import account_pb2
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_knowledge.audit.recording import AuditOutbox, audit_stub
from heddle_knowledge.collection.access import Person
from heddle_knowledge.uploads.deletions import FileDeletions
from heddle_knowledge.uploads.ingestion_queue import IngestionQueue
from heddle_knowledge.uploads.old_uploads import OldUploads
from heddle_knowledge.uploads.records import Attachment, new_id
from heddle_knowledge.uploads.store import person_key
from heddle_knowledge.uploads.stores import FileStores, open_file_stores
from heddle_runtime.errors import NotFoundError, UnavailableError
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.client import channel
from heddle_runtime.storage.database.engine import open_database
from heddle_runtime.storage.object_store import ObjectStore
from knowledge.opening import NOWHERE, waiting_events
from runtime.ports import free_port
from s3_server import BUCKET, S3Server

ANA, EVE = (person_key(Person(f"x@{slug}.example", slug)) for slug in ("uni", "college"))
UNKNOWN = "0" * 32
CREDENTIALS = ServiceCredentials("heddle-knowledge")
DAY = 86_400
KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from heddle_knowledge.uploads.stores import open_file_stores
from heddle_runtime.storage.object_store import ObjectStore, ObjectStoreSettings

class Deadly(ObjectStore):
    def delete(self, key):
        os.kill(os.getpid(), signal.SIGKILL)

async def main(database, person, identifier):
    settings = ObjectStoreSettings()
    options = {key: value.get_secret_value() for key, value in settings.objects_options.items()}
    objects = Deadly(settings.objects_url, options)
    async with open_file_stores(database, Path(), objects) as stores:
        await stores.uploads.mark_deleted(person, identifier)
        await stores.uploads.delete(person, identifier)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(params=["folder", "database", "objects"])
async def stores(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[FileStores, FileStores]]:
    """The stores of two replicas; a folder is for one, which stands for both."""
    objects = None
    if request.param == "objects":
        server: S3Server = request.getfixturevalue("object_server")
        objects = ObjectStore(f"s3://{BUCKET}/{secrets.token_hex(4)}", server.options)
    async with AsyncExitStack() as stack:
        if request.param == "folder":
            one = await stack.enter_async_context(open_file_stores("", tmp_path))
            yield one, one
            return
        postgres: Postgres = request.getfixturevalue("vector_server")
        url = stack.enter_context(postgres.database())
        opened = [
            await stack.enter_async_context(open_file_stores(url, tmp_path, objects))
            for _ in range(2)
        ]
        yield opened[0], opened[1]


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    """The assistants service, with an organisation that stores uploads for 30 days."""
    async with assistants_serving(f"sqlite:///{tmp_path}/heddle.db") as running:
        for slug, settings in (("uni", {"retention": {"uploads_days": 30}}), ("college", {})):
            organization = account_pb2.Organization(slug=slug, settings_json=json.dumps(settings))
            request = account_pb2.PutOrganizationRequest(organization=organization)
            admin = running.as_(ADMIN)
            await admin.ask(admin.accounts.PutOrganization, request)
        yield running


async def upload(stores: FileStores, person: str, days: float, organization: str = "uni") -> str:
    """Store a file that is so old."""
    file = pb.File(id=new_id(), filename="notes.md", size=8, organization=organization)
    file.create_time.seconds = int(time.time() - days * DAY)
    await stores.uploads.keep(person, file, b"Threads.")
    return file.id


async def attach(stores: FileStores, person: str, identifier: str) -> None:
    """Put a file into a collection."""
    attachments = stores.attachments
    it = Attachment(
        file_id=identifier,
        collection="c1",
        document="notes.md",
        person=person,
        filename="notes.md",
        media_type="",
        size=8,
        attributes={},
        created_at=1,
        state="completed",
    )
    async with attachments.locked("c1", identifier):
        await attachments.keep(it)


def deletions(stores: FileStores) -> FileDeletions:
    """Return what deletes files of a service whose store is not open."""
    queue = IngestionQueue(stores, no_store, NOWHERE.sources(httpx.AsyncClient()))
    return FileDeletions(no_store, queue)


async def no_store() -> Any:
    raise AssertionError


@asynccontextmanager
async def replicas(
    stores: tuple[FileStores, FileStores], service: Service, folder: Path
) -> AsyncIterator[tuple[OldUploads, OldUploads]]:
    """What deletes old files, in two replicas."""
    connection: Any = service.connection
    async with AsyncExitStack() as stack:
        both = []
        for number, each in enumerate(stores):
            waiting = await stack.enter_async_context(waiting_events(folder / f"audit{number}"))
            outbox = AuditOutbox(waiting, audit_stub(connection))
            audit = await stack.enter_async_context(outbox.sending(CREDENTIALS))
            both.append(OldUploads(deletions(each), audit, connection, CREDENTIALS))
        yield both[0], both[1]
        for deleting in both:
            await deleting.audit.sent()


async def ids(stores: FileStores) -> set[str]:
    return {identifier for _, identifier in await stores.uploads.keys()}


async def test_old_files_go_and_young_ones_used_ones_and_those_of_others_stay(
    stores: tuple[FileStores, FileStores], service: Service, tmp_path: Path
) -> None:
    one, _ = stores
    old = [await upload(one, ANA, 31) for _ in range(2)]
    earlier = await upload(one, ANA, 40, organization="")  # of a version that did not store it
    attached, used = await upload(one, ANA, 31), await upload(one, ANA, 31)
    await attach(one, ANA, attached)
    async with open_database(f"sqlite:///{tmp_path}/heddle.db") as database:
        document = LEGACY | {"rag_processor": "single_file_rag", "file_path": used}
        await keep(database, metadata=json.dumps(document))
    stay = {
        attached,
        used,
        await upload(one, ANA, 29.9),
        await upload(one, EVE, 500, "college"),
        await upload(one, UNKNOWN, 500, ""),
    }

    async with replicas(stores, service, tmp_path) as both:
        await asyncio.gather(*(each.delete() for each in both))
        assert await ids(one) == stay
        await both[0].delete()
        assert await ids(one) == stay

    log = [each for each in await events(service) if each.action == "file.expire"]
    assert sorted(each.object_id for each in log) == sorted([*old, earlier])
    assert {(each.organization, each.actor.subject) for each in log} == {
        ("uni", "heddle-knowledge")
    }


async def test_while_the_assistants_service_does_not_answer_nothing_is_deleted(
    stores: tuple[FileStores, FileStores], tmp_path: Path
) -> None:
    old = await upload(stores[0], ANA, 31)
    async with (
        channel(f"127.0.0.1:{free_port()}") as connection,
        waiting_events(tmp_path / "audit") as waiting,
    ):
        audit = AuditOutbox(waiting, audit_stub(connection))
        with pytest.raises(UnavailableError):
            await OldUploads(deletions(stores[0]), audit, connection, CREDENTIALS).delete()
    assert await ids(stores[0]) == {old}


@pytest.mark.exhaustive
async def test_a_kill_between_row_and_bytes_leaves_nothing_of_the_file_and_all_of_others(
    vector_server: Postgres, object_server: S3Server, tmp_path: Path
) -> None:
    prefix = secrets.token_hex(4)
    objects = ObjectStore(f"s3://{BUCKET}/{prefix}", object_server.options)
    with vector_server.database() as url:
        async with open_file_stores(url, tmp_path, objects) as stores:
            uploads = stores.uploads
            old, young = (pb.File(id=new_id(), size=8) for _ in range(2))
            for file in (old, young):
                await uploads.keep(ANA, file, b"Threads.")
            killed = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-c", KILLED, url, ANA, old.id],
                env=object_server.settings(prefix),
                check=False,
            )
            assert killed.returncode == -signal.SIGKILL

            with pytest.raises(NotFoundError):
                await uploads.get(ANA, old.id)
            assert len(object_server.keys(prefix)) == 2
            await uploads.objects.sweep(timedelta(seconds=-10))
            assert len(object_server.keys(prefix)) == 1
            assert await uploads.content(ANA, young.id) == b"Threads."


async def test_a_detached_file_is_hidden_at_all_replicas_until_it_is_forgotten(
    stores: tuple[FileStores, FileStores],
) -> None:
    one, other = (each.attachments for each in stores)
    detached, attached = [await upload(stores[0], ANA, 0) for _ in range(2)]
    for each in (detached, attached):
        await attach(stores[0], ANA, each)
    await one.mark_detached("c1", detached)
    assert [it.file_id for it in await other.of("c1")] == [attached]
    assert await other.find("c1", detached) is None
    assert await other.everywhere(detached) == []
    for place in ((), ("c1",), ("c1", detached)):
        files = await other.detached(*place)
        assert [it.file_id for it in files] == [detached]
    assert await other.detached("c1", attached) == []
    await other.forget("c1", detached)
    assert await one.detached() == []
