"""`/collections/{id}/ingest-url`, `ingest-base` and `documents`: sources that are no files."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway.replicas import server_port
from gateway.shelves import Shelves, shelves
from gateway.test_lamb_jobs import jobs_until
from gateway.test_lamb_kb import new_collection
from knowledge.web.site import CAPTIONS, FORBIDDEN, VIDEO, Site, running_site
from runtime.examples import sampled

WATCH = f"https://www.youtube.com/watch?v={VIDEO}&t=3"
SHORT = f"https://youtu.be/{VIDEO}"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with running_site(server_port()) as running:
        yield running


@pytest.fixture
async def shelf(tmp_path: Path, site: Site) -> AsyncIterator[Shelves]:
    async with shelves(tmp_path, web=site.fetching) as running:
        yield running


async def started(shelf: Shelves, address: str, body: dict[str, Any]) -> list[str]:
    """Begin an ingestion and return the paths of its jobs."""
    response = await shelf["ana"].post(address, json=body)
    assert response.status_code == 200, response.text
    answer = response.json()
    assert (answer["success"], answer["status"], answer["documents_added"]) == (
        *(True, "processing"),
        0,
    )
    assert answer["file_registry_id"] == answer["file_registry_ids"][0]
    path = address.rpartition("/")[0]
    return [f"{path}/ingestion-jobs/{each}" for each in answer["file_registry_ids"]]


async def ended(shelf: Shelves, jobs: list[str]) -> list[dict[str, Any]]:
    """Return jobs when they have ended."""
    return [(await jobs_until(shelf, each, "completed", "failed"))[-1] for each in jobs]


async def results(shelf: Shelves, path: str, query: str = "shed") -> list[dict[str, Any]]:
    response = await shelf["ana"].post(f"{path}/query", json={"query_text": query, "top_k": 50})
    assert response.status_code == 200, response.text
    matches: list[dict[str, Any]] = response.json()["results"]
    return matches


async def test_a_web_page_is_ingested_and_its_address_is_the_source(
    shelf: Shelves, site: Site
) -> None:
    path = await new_collection(shelf)
    url = f"{site.url}/page"
    body = {"urls": [url], "plugin_params": {"chunk_size": 500}}
    [job] = await ended(shelf, await started(shelf, f"{path}/ingest-url", body))
    assert (job["status"], job["error_message"], job["document_count"]) == ("completed", None, 1)
    assert (job["plugin_name"], job["plugin_params"]) == ("url_ingest", {"chunk_size": 500})
    assert (job["original_filename"], job["file_url"]) == (url, url)
    [listed] = (await shelf["ana"].get(f"{path}/files")).json()
    assert (listed["original_filename"], listed["file_url"]) == (url, url)
    [result] = await results(shelf, path)
    assert result["data"] == "A shed is a gap."
    metadata = result["metadata"]
    assert (metadata["filename"], metadata["source_url"], metadata["file_url"]) == (
        *("Looms", url),
        url,
    )
    assert "lamb_plugin_params" not in metadata


async def test_each_address_is_a_job_with_its_own_error(shelf: Shelves, site: Site) -> None:
    path = await new_collection(shelf)
    expected = {
        "/page": "",
        "/private": "private network",
        "/metadata": "private network",
        "/loop": "more than 5 times",
        "/slow": "did not send the document within",
        "/missing": "answers 404",
        "/packed": "compresses",
        "/image": "image/png",
        "/empty": "holds no text",
    }
    urls = [site.url + each for each in expected]
    urls += [f"http://{FORBIDDEN}:{site.port}/page", "http://169.254.169.254/", "http://[::1]/"]
    jobs = await ended(shelf, await started(shelf, f"{path}/ingest-url", {"urls": urls}))
    assert [each["original_filename"] for each in jobs] == urls
    reasons = [*expected.values(), *["private network"] * 3]
    for job, reason in zip(jobs, reasons, strict=True):
        assert job["status"] == ("failed" if reason else "completed"), job
        assert reason in (job["error_message"] or ""), job
    assert not [each for each in site.requests if each.startswith(FORBIDDEN)]
    assert len(await results(shelf, path)) == 1


async def test_an_endless_page_fails(shelf: Shelves, site: Site) -> None:
    path = await new_collection(shelf)
    jobs = await started(shelf, f"{path}/ingest-url", {"urls": [f"{site.url}/big"]})
    [job] = await ended(shelf, jobs)
    assert job["status"] == "failed"
    assert "more than 30 MiB" in job["error_message"] or "document within" in job["error_message"]
    await site.cut_short.wait()


@pytest.mark.exhaustive
async def test_a_page_that_failed_is_fetched_again_by_a_retry(shelf: Shelves, site: Site) -> None:
    path = await new_collection(shelf)
    page, site.page = site.page, ""
    parameters = {"chunk_size": 100}
    body = {"urls": [f"{site.url}/page"], "plugin_params": parameters}
    [address] = await started(shelf, f"{path}/ingest-url", body)
    [job] = await ended(shelf, [address])
    assert job["status"] == "failed"
    site.page = page.replace("A shed is a gap.", "A shed is a gap. " * 30)
    assert (await shelf["ana"].post(f"{address}/retry")).status_code == 200
    [job] = await ended(shelf, [address])
    assert (job["status"], job["plugin_params"]) == ("completed", parameters)
    matches = await results(shelf, path)
    assert len(matches) > 2
    assert max(len(each["data"]) for each in matches) <= 200


@pytest.mark.parametrize(
    ("urls", "field"),
    sampled(
        [
            ([], "plugin_params.urls"),
            (["http://example.org"] * 101, "urls"),
            (["http://example.org", "file:///etc/passwd"], "urls[1]"),
            (["gopher://example.org"], "urls[0]"),
            (["http://ana:secret@example.org"], "urls[0]"),
            (["http://example.org/\r\nHost: a"], "urls[0]"),
            (["javascript:alert(1)"], "urls[0]"),
            ([""], "urls[0]"),
            (["http://example.org/" + "a" * 2_048], "urls[0]"),
        ],
        5,
    ),
)
async def test_an_address_that_cannot_be_is_refused(
    shelf: Shelves, urls: list[str], field: str
) -> None:
    path = await new_collection(shelf)
    response = await shelf["ana"].post(f"{path}/ingest-url", json={"urls": urls})
    assert response.status_code == 400, response.text
    assert field in response.json()["detail"]
    assert "secret" not in response.text
    assert (await shelf["ana"].get(f"{path}/files")).json() == []


@pytest.mark.exhaustive
async def test_a_placeholder_file_of_lamb_starts_the_plugin(shelf: Shelves, site: Site) -> None:
    path = await new_collection(shelf)
    url = f"{site.url}/page"
    ways = [
        ("url_ingest", {"url": url}, f"{url}\n"),
        ("url_ingest", {"urls": [url]}, ""),
        ("url_ingest", {"chunk_size": "400"}, f"{url}\n"),
        ("youtube_transcript_ingest", {"video_url": WATCH, "proxy_url": ""}, f"{WATCH}\n"),
        ("youtube_transcript_ingest", {"chunk_duration": 30}, f"{WATCH}\n\n"),
    ]
    for number, (plugin, parameters, content) in enumerate(ways):
        form = {"plugin_name": plugin, "plugin_params": json.dumps(parameters)}
        file = {"file": (f"placeholder {number}.txt", content.encode(), "text/plain")}
        response = await shelf["ana"].post(f"{path}/ingest-file", data=form, files=file)
        assert response.status_code == 200, response.text
        [job] = await ended(shelf, [f"{path}/ingestion-jobs/{response.json()['file_registry_id']}"])
        assert (job["status"], job["plugin_name"]) == ("completed", plugin), job
    sources = {each["metadata"]["source_url"] for each in await results(shelf, path)}
    assert sources == {url, f"{SHORT}?t=1", f"{SHORT}?t=65"}
    for plugin in ("url_ingest", "simple_ingest"):
        empty = {"file": ("a.txt", b"", "text/plain")}
        form = {"plugin_name": plugin}
        refused = await shelf["ana"].post(f"{path}/ingest-file", data=form, files=empty)
        assert refused.status_code == 400


async def test_a_transcript_is_fetched_or_supplied(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    ways: list[dict[str, Any]] = [
        {"language": "de"},
        {"transcript": CAPTIONS},
        {"transcript": CAPTIONS, "chunk_duration": 600},
        {"transcript": "A shed, without times."},
    ]
    for parameters in ways:
        body = {
            "plugin_name": "youtube_transcript_ingest",
            "plugin_params": {"video_url": WATCH, **parameters},
        }
        [job] = await ended(shelf, await started(shelf, f"{path}/ingest-base", body))
        assert job["status"] == "completed", job
        assert job["plugin_params"]["video_url"] == WATCH
    matches = {
        (each["metadata"].get("start_time"), each["data"]): each["metadata"]
        for each in await results(shelf, path)
    }
    assert set(matches) == {
        (1, "Welcome to weaving."),
        (65, "A shed is a gap & opens."),
        (1, "Welcome to weaving. A shed is a gap & opens."),
        (None, "A shed, without times."),
    }
    timed = matches[65, "A shed is a gap & opens."]
    assert (timed["source_url"], timed["video_id"]) == (f"{SHORT}?t=65", VIDEO)
    assert timed["start_timestamp"] == "00:01:05,000"
    assert matches[None, "A shed, without times."]["source_url"] == SHORT
    missing = {"video_url": "https://youtu.be/AAAAAAAAAAA"}
    body = {"plugin_name": "youtube_transcript_ingest", "plugin_params": missing}
    [job] = await ended(shelf, await started(shelf, f"{path}/ingest-base", body))
    assert job["error_message"] == "The video offers no transcript. Add its text instead."


async def test_a_text_is_ingested_with_base_ingest(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    source = "https://example.org/looms"
    parameters = {"text": "A shed is a gap.", "title": "Sheds", "source_url": source}
    body = {"plugin_name": "base_ingest", "plugin_params": parameters}
    [job] = await ended(shelf, await started(shelf, f"{path}/ingest-base", body))
    assert (job["status"], job["original_filename"]) == ("completed", "Sheds.txt")
    [result] = await results(shelf, path)
    assert (result["data"], result["metadata"]["source_url"]) == ("A shed is a gap.", source)


async def test_searches_return_added_documents_at_once(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    documents = [
        {
            "text": f"Shed number {number}.",
            "metadata": {
                "source": "/tmp/sheds.txt",  # noqa: S108 - a name, as LAMB's clients send it
                "filename": "sheds.txt",
                "chunk_index": number,
                "source_url": "https://example.org/sheds",
                "nested": {"a": [1, None]},
                "nothing": None,
            },
        }
        for number in range(20)
    ]
    for _ in range(2):  # a repetition changes nothing
        response = await shelf["ana"].post(f"{path}/documents", json={"documents": documents})
        assert response.status_code == 200, response.text
        answer = response.json()
        assert (answer["documents_added"], answer["success"]) == (20, True)
        data = [each["data"] for each in await results(shelf, path)]
        assert sorted(data) == sorted(str(each["text"]) for each in documents)
    matches = await results(shelf, path)
    metadata = next(each["metadata"] for each in matches if each["data"] == "Shed number 7.")
    assert metadata["filename"] == "sheds.txt"
    assert metadata["source_url"] == "https://example.org/sheds"
    assert metadata["chunk_index"] == "7"
    assert json.loads(metadata["nested"]) == {"a": [1, None]}
    assert "nothing" not in metadata
    plain = {"documents": [{"text": "A shed without metadata."}]}
    assert (await shelf["ana"].post(f"{path}/documents", json=plain)).status_code == 200


@pytest.mark.parametrize(
    ("documents", "field"),
    sampled(
        [
            ([], "documents"),
            ([{"text": "A shed."}, {"text": ""}], "documents[1].text"),
            ([{"text": " \n"}], "documents[0].text"),
            ([{"metadata": {}}], "documents[0].text"),
            ([{"text": "A shed.", "metadata": {"k": "v" * 1_025}}], "documents[0].metadata.k"),
            ([{"text": "A shed.", "metadata": {"": "v"}}], "documents[0].metadata."),
            ([{"text": "A shed.", "metadata": []}], "documents[0].metadata"),
            ([{"text": "A shed."}] * 1_001, "documents"),
        ],
        5,
    ),
)
async def test_a_document_that_cannot_be_is_named(
    shelf: Shelves, documents: list[dict[str, Any]], field: str
) -> None:
    path = await new_collection(shelf)
    response = await shelf["ana"].post(f"{path}/documents", json={"documents": documents})
    assert response.status_code == 400, response.text
    assert response.json()["error"]["param"] == field


async def test_others_can_add_nothing(shelf: Shelves, site: Site) -> None:
    path = await new_collection(shelf)
    base = {"plugin_name": "base_ingest", "plugin_params": {"text": "A shed."}}
    requests = [
        ("documents", {"documents": [{"text": "A shed."}]}),
        ("ingest-url", {"urls": [f"{site.url}/page"]}),
        ("ingest-base", base),
    ]
    await shelf["root"].post("/v1/vector_stores", json={"name": "Looms", "sharing": "everyone"})
    for way, body in requests:
        for person, address, status in (
            ("eve", path, 404),
            ("ana", "/collections/nowhere", 404),
            ("ana", "/collections/Looms", 403),
        ):
            response = await shelf[person].post(f"{address}/{way}", json=body)
            assert response.status_code == status, response.text
    assert [each async for each in shelf.openai["ana"].files.list()] == []
    assert [each async for each in shelf.openai["eve"].files.list()] == []
    assert site.requests == []
