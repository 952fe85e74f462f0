"""Pages and their pictures at two replicas, of which one is killed."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.pages.page_place import open_pages
from heddle_runtime.errors import NotFoundError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.object_store import ObjectStore
from knowledge.model_server import model_site
from knowledge.pages.pdfs import pdf
from knowledge.replicas.service import Replica, two_replicas
from patience import until
from s3_server import BUCKET, S3Server

pytestmark = pytest.mark.timeout(200)
GUIDE = pdf("A shed is a gap.", "A heddle is a loop.")
EVE = Identity("eve@college.example", "college", ("creator",))


@dataclass
class Pair:
    """Two replicas, and where pictures are."""

    first: Replica
    second: Replica
    server: S3Server
    prefix: str
    database: str

    @property
    def keys(self) -> list[str]:
        """The keys of all objects."""
        return self.server.keys(self.prefix)


@pytest.fixture(params=["objects"])
async def pair(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, object_server: S3Server
) -> AsyncIterator[Pair]:
    """Two replicas that share a database, and an object store or not."""
    prefix = secrets.token_hex(8)
    settings = object_server.settings(prefix) if request.param == "objects" else {}
    async with (
        model_site() as site,
        two_replicas(tmp_path, database, site, **settings) as (first, second),
    ):
        yield Pair(first, second, object_server, prefix, database)


@pytest.mark.exhaustive
@pytest.mark.parametrize("pair", ["objects", "rows"], indirect=True)
async def test_pages_of_a_replica_that_was_killed_are_found_and_shown_by_the_other_one(
    pair: Pair,
) -> None:
    await pair.first.call("DeleteCollection", name="looms")
    collection = pb.Collection(name="looms", page_handling=pb.PAGE_HANDLING_SEARCH)
    await pair.first.call("CreateCollection", collection=collection)
    await pair.first.ingest("a.pdf", GUIDE)
    shown = await pair.first.picture("a.pdf", 2)
    search = {"collections": ["looms"], "query": "heddle", "top_k": 2}
    before = (await pair.first.call("SearchPages", **search)).pages
    assert await pair.second.picture("a.pdf", 2) == shown
    pair.first.kill()

    pages = (await pair.second.call("SearchPages", **search)).pages
    assert [page.page for page in pages] == [2, 1]
    assert pages[0].score > 0.5 > pages[1].score
    assert list(pages) == list(before)
    assert await pair.second.picture("a.pdf", 2) == shown
    assert shown[8:12] == b"WEBP"
    assert list((pair.first.folder / "data").glob("pages/*")) == []


@pytest.mark.exhaustive
async def test_what_one_replica_deletes_is_gone_at_both(pair: Pair) -> None:
    await pair.first.ingest("a.pdf", GUIDE)
    await pair.second.ingest("b.pdf", pdf("Felt is pressed."))
    assert len(pair.keys) == 3
    for replica in (pair.first, pair.second):
        assert await replica.picture("a.pdf", 1) != await replica.picture("b.pdf", 1)

    await pair.second.call("DeleteDocument", collection="looms", name="a.pdf")
    for replica in (pair.first, pair.second):
        with pytest.raises(NotFoundError):
            await replica.picture("a.pdf", 1)
        assert await replica.picture("b.pdf", 1)
    await until(lambda: len(pair.keys) == 1)

    await pair.first.call("DeleteCollection", name="looms")
    assert pair.keys == []
    for replica in (pair.first, pair.second):
        with pytest.raises(NotFoundError):
            await replica.picture("b.pdf", 1)


@pytest.mark.exhaustive
async def test_the_same_document_of_two_organisations_has_pages_for_each(pair: Pair) -> None:
    eve = pair.second.as_user(EVE)
    await eve.call("CreateCollection", collection=pb.Collection(name="looms"))
    await asyncio.gather(pair.first.ingest("a.pdf", GUIDE), eve.ingest("a.pdf", GUIDE))
    assert len(pair.keys) == 4
    of_ann = (await pair.first.call("GetCollection", name="looms")).collection
    for replica in (pair.first, pair.second):
        with pytest.raises(NotFoundError):
            await replica.as_user(EVE).call(
                "GetPagePicture", collection=of_ann.id, document="a.pdf", page=1
            )
        assert await replica.as_user(EVE).picture("a.pdf", 1)

    await pair.second.call("DeleteCollection", name="looms")
    assert len(pair.keys) == 2
    assert await pair.first.as_user(EVE).picture("a.pdf", 2)


@pytest.mark.exhaustive
async def test_two_replicas_that_ingest_the_same_document_draw_each_page_once(
    pair: Pair,
) -> None:
    await asyncio.gather(pair.first.ingest("a.pdf", GUIDE), pair.second.ingest("b.pdf", GUIDE))
    assert len(pair.keys) == 2
    await pair.first.call("DeleteDocument", collection="looms", name="a.pdf")
    assert await pair.first.picture("b.pdf", 1) == await pair.second.picture("b.pdf", 1)


@pytest.mark.exhaustive
async def test_pages_that_a_killed_replica_has_begun_are_completed_by_the_other_one(
    pair: Pair,
) -> None:
    count = 60
    long = pdf(*(f"A gap of loom {number}." for number in range(count)))
    begun = asyncio.create_task(pair.first.ingest("a.pdf", long))
    await until(lambda: pair.keys)
    pair.first.kill()
    await asyncio.gather(begun, return_exceptions=True)
    assert 0 < len(pair.keys) < count

    await pair.second.ingest("a.pdf", long)
    assert await pair.second.picture("a.pdf", count)
    objects = ObjectStore(f"s3://{BUCKET}/{pair.prefix}", pair.server.options)
    async with open_pages(pair.database, Path(), objects) as pages:
        await pages.objects.sweep(timedelta(seconds=-10))
    assert len(pair.keys) == count
