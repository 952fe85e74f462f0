"""`heddle.knowledge.v1.FileService`: files that are split or fetched in a way of their own."""

from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.errors import InvalidRequestError
from knowledge.uploads.desk import Desk, refusal, serving
from knowledge.web.site import VIDEO, Site, running_site

SENTENCES = " ".join(f"Threads number {number} are warped." for number in range(60))


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with running_site() as running:
        yield running


@pytest.fixture
async def online(tmp_path: Path, site: Site) -> AsyncIterator[Desk]:
    """The services, which may fetch from the site."""
    async with serving(tmp_path, web=site.fetching) as running_desk:
        yield running_desk


async def attached(desk: Desk, file: str, **fields: Any) -> Any:
    await desk("ana", "AttachFile", collection="looms", file_id=file, **fields)
    return await desk.done("looms", file)


async def matches(desk: Desk) -> list[Any]:
    fields = {"collections": ["looms"], "query": "threads", "top_k": 50}
    (result,) = (await desk("ana", "SearchCollections", **fields)).results
    return list(result.passages)


async def test_a_file_is_split_in_its_own_way(desk: Desk) -> None:
    await desk.collection("ana")
    file = await desk.upload("ana", "threads.txt", SENTENCES)
    await attached(desk, file)
    plain = await matches(desk)
    small = knowledge_pb2.Chunking(
        target_characters=100, overlap_characters=40, parent_characters=300
    )
    done = await attached(desk, file, chunking=small)
    assert done.chunking == small
    passages = await matches(desk)
    assert max(len(each.text) for each in passages) <= 200 < max(len(each.text) for each in plain)
    assert max(len(each.parent_text) for each in passages) <= 300
    listed = await desk("ana", "ListPassages", collection="looms", document="threads.txt")
    pairs = list(pairwise(listed.passages))
    assert pairs
    assert all(later.start_offset < before.end_offset for before, later in pairs)
    # Attached again without a word on it, for example for another attempt.
    assert (await attached(desk, file)).chunking == small
    whole = await attached(desk, file, chunking=small, whole_paragraphs=True)
    assert whole.status == pb.ATTACHMENT_STATUS_COMPLETED
    [passage] = await matches(desk)
    assert passage.text == SENTENCES


async def test_a_web_page_is_fetched_at_each_ingestion(online: Desk, site: Site) -> None:
    await online.collection("ana")
    file = await online.upload("ana", "looms", "a link")
    url = f"{site.url}/page"
    done = await attached(online, file, uri=url, source=pb.FILE_SOURCE_WEB)
    assert (done.error, done.uri, done.source) == ("", url, pb.FILE_SOURCE_WEB)
    [passage] = await matches(online)
    assert (passage.text, passage.title, passage.uri) == ("A shed is a gap.", "Looms", url)
    site.page = site.page.replace("gap", "space")
    assert (await attached(online, file)).error == ""
    [passage] = await matches(online)
    assert (passage.text, passage.uri) == ("A shed is a space.", url)
    changed = {"collection": "looms", "file_id": file, "attributes": to_struct({"year": 2027})}
    await online("ana", "UpdateAttachedFile", **changed)
    [passage] = await matches(online)
    assert (passage.metadata["year"], passage.uri) == ("2027", url)


@pytest.mark.exhaustive
async def test_a_page_that_cannot_be_fetched_fails_and_leaves_the_document(
    online: Desk, site: Site
) -> None:
    await online.collection("ana")
    file = await online.upload("ana", "looms", "a link")
    await attached(online, file, uri=f"{site.url}/page", source=pb.FILE_SOURCE_WEB)
    done = await attached(online, file, uri=f"{site.url}/private", source=pb.FILE_SOURCE_WEB)
    assert done.status == pb.ATTACHMENT_STATUS_FAILED
    assert "private network" in done.error
    assert not done.unreadable
    assert [each.text for each in await matches(online)] == ["A shed is a gap."]
    image = await attached(online, file, uri=f"{site.url}/image", source=pb.FILE_SOURCE_WEB)
    assert (image.unreadable, "image/png" in image.error) == (True, True)


async def test_a_transcript_is_fetched(online: Desk) -> None:
    await online.collection("ana")
    file = await online.upload("ana", "talk", "a link")
    uri = f"https://youtu.be/{VIDEO}"
    fields = {"uri": uri, "source": pb.FILE_SOURCE_TRANSCRIPT}
    assert (await attached(online, file, **fields)).error == ""
    passages = {each.headings[0]: each.text for each in await matches(online)}
    assert passages == {"0:00:01": "Welcome to weaving.", "0:01:05": "A shed is a gap & opens."}
    assert (await attached(online, file, transcript_seconds=300, **fields)).error == ""
    assert len(await matches(online)) == 1


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("chunking.target_characters", {"chunking": {"target_characters": 99}}),
        ("chunking.overlap_characters", {"chunking": {"overlap_characters": 300}}),
        ("chunking.parent_characters", {"chunking": {"parent_characters": 16_001}}),
        ("uri", {"uri": "ftp://example.org"}),
        ("uri", {"uri": "http://ana:b@example.org"}),
        ("uri", {"source": pb.FILE_SOURCE_WEB}),
        ("uri", {"source": pb.FILE_SOURCE_TRANSCRIPT, "uri": "https://example.org"}),
        ("source", {"source": 99}),
        ("transcript_language", {"transcript_language": "x" * 36}),
        ("transcript_seconds", {"transcript_seconds": -1}),
        ("transcript_seconds", {"transcript_seconds": 3_601}),
    ],
)
async def test_a_way_that_cannot_be_is_refused(
    desk: Desk, field: str, fields: dict[str, Any]
) -> None:
    await desk.collection("ana")
    file = await desk.upload("ana")
    error = await refusal(desk, "ana", "AttachFile", collection="looms", file_id=file, **fields)
    assert isinstance(error, InvalidRequestError)
    assert [each.field for each in error.violations] == [field]
