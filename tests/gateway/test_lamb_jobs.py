"""`/collections/{id}/ingestion-jobs`: what LAMB shows of the files on their way."""

import asyncio
from typing import Any

import pytest
from gateway.shelves import SHARED_LOOP, Shelves
from gateway.test_lamb_kb import ingested, new_collection
from knowledge.store.making import pdf

BROKEN = "this is no PDF"
PAGES = 30

pytestmark = pytest.mark.asyncio(loop_scope=SHARED_LOOP)


@pytest.fixture
def shelf(shelves_of_new_people: Shelves) -> Shelves:
    return shelves_of_new_people


async def uploaded(shelf: Shelves, path: str, name: str, data: bytes) -> str:
    """Begin to ingest a file and return the path of its job."""
    response = await shelf["ana"].post(f"{path}/ingest-file", files={"file": (name, data)})
    assert response.status_code == 200, response.text
    return f"{path}/ingestion-jobs/{response.json()['file_registry_id']}"


async def jobs_until(shelf: Shelves, job: str, *statuses: str) -> list[dict[str, Any]]:
    """Return the states of a job until it has one of these statuses."""
    states: list[dict[str, Any]] = []
    async with asyncio.timeout(120):
        while not states or states[-1]["status"] not in statuses:
            response = await shelf["ana"].get(job)
            assert response.status_code == 200, response.text
            states.append(response.json())
            await asyncio.sleep(0.01)
    return states


@pytest.mark.exhaustive
async def test_a_job_shows_the_progress_of_a_book(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    book = pdf(*(f"Page {number} is about looms and sheds." for number in range(PAGES)))
    job = await uploaded(shelf, path, "book.pdf", book)
    *before, last = await jobs_until(shelf, job, "completed", "failed")
    assert (last["status"], last["error_message"], last["progress"]) == ("completed", None, None)
    assert last["document_count"] > 0
    assert {each["status"] for each in before} <= {"pending", "processing"}
    seen = [each["progress"] for each in before if each["progress"]]
    pages = [each["current"] for each in seen if each["message"] == "drawing"]
    assert pages == sorted(pages)
    assert len(set(pages)) > 3
    assert {each["total"] for each in seen if each["message"] == "drawing"} == {PAGES}
    for each in seen:
        assert each["percentage"] == pytest.approx(100 * each["current"] / each["total"])


async def test_a_cancelled_job_cannot_be_retried_or_cancelled_again(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    book = pdf(*(f"Page {number} is about looms and sheds." for number in range(300)))
    job = await uploaded(shelf, path, "book.pdf", book)
    await jobs_until(shelf, job, "processing")
    cancelled = await shelf["ana"].post(f"{job}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    query = {"query_text": "looms"}
    assert (await shelf["ana"].post(f"{path}/query", json=query)).json()["results"] == []
    again = await shelf["ana"].post(f"{job}/cancel")
    assert again.status_code == 400
    assert "'cancelled'" in again.json()["detail"]
    retried = await shelf["ana"].post(f"{job}/retry", json={"override_params": None})
    assert (retried.status_code, "'cancelled'" in retried.json()["detail"]) == (400, True)
    [file] = (await shelf["ana"].get(f"{path}/files")).json()
    assert file["status"] == "cancelled"


@pytest.mark.exhaustive
async def test_times_of_a_job_are_in_order(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    book = pdf(*(f"Page {number} is about looms and sheds." for number in range(PAGES)))
    job = await uploaded(shelf, path, "book.pdf", book)
    *before, last = await jobs_until(shelf, job, "completed")
    assert all(each["processing_completed_at"] is None for each in before)
    started = [each["processing_started_at"] for each in before if each["progress"]]
    assert started
    times = [last[f"{name}_at"] for name in ("created", "processing_started")]
    times += [last["processing_completed_at"]]
    assert times == sorted(times)
    assert set(started) == {last["processing_started_at"]}
    assert last["updated_at"] == last["processing_completed_at"]
    assert last["processing_duration_seconds"] > 0
    stats = last["processing_stats"]
    assert (stats["page_count"], stats["content_length"]) == (PAGES, len(book))
    assert stats["chunk_stats"]["count"] == last["document_count"]


async def test_those_who_may_change_a_collection_retry_files_of_others(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    job = await uploaded(shelf, path, "broken.pdf", BROKEN.encode())
    failed = (await jobs_until(shelf, job, "failed"))[-1]
    assert failed["error_details"] == {
        "message": failed["error_message"],
        "retry_may_help": False,
    }
    retried = await shelf["root"].post(f"{job}/retry")
    assert (retried.status_code, retried.json()["status"]) == (200, "pending")
    again = (await jobs_until(shelf, job, "failed"))[-1]
    assert again["processing_started_at"] > failed["processing_completed_at"]


async def test_jobs_are_listed_and_counted(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    await ingested(shelf, path, "a.txt", "A shed.")
    await ingested(shelf, path, "b.txt", "A reed, which is longer.")
    broken = await ingested(shelf, path, "broken.pdf", BROKEN)
    assert broken["status"] == "failed"

    async def listed(**query: Any) -> list[str]:
        response = await shelf["ana"].get(f"{path}/ingestion-jobs", params=query)
        assert response.status_code == 200, response.text
        return [each["original_filename"] for each in response.json()["items"]]

    assert await listed() == ["broken.pdf", "b.txt", "a.txt"]
    assert await listed(status="completed", sort_order="asc") == ["a.txt", "b.txt"]
    assert await listed(sort_by="original_filename") == ["broken.pdf", "b.txt", "a.txt"]
    assert await listed(sort_by="file_size", sort_order="asc") == ["a.txt", "broken.pdf", "b.txt"]
    assert await listed(status="pending") == []
    page = (await shelf["ana"].get(f"{path}/ingestion-jobs?limit=1&offset=1")).json()
    assert (page["total"], page["limit"], page["offset"], page["has_more"]) == (3, 1, 1, True)
    [job] = page["items"]
    assert (job["original_filename"], job["owner"], job["document_count"]) == ("b.txt", "7", 1)
    assert (await shelf["ana"].get(job["file_url"])).text == "A reed, which is longer."
    summary = (await shelf["ana"].get(f"{path}/ingestion-status")).json()
    assert summary["total_jobs"] == 3
    assert summary["by_status"] == {
        "pending": 0,
        "processing": 0,
        "completed": 2,
        "failed": 1,
        "cancelled": 0,
        "deleted": 0,
    }
    [failure] = summary["recent_failures"]
    assert failure["error_message"] == broken["error_message"]
    assert failure["error_message"]
    assert summary["oldest_processing_job"] is None


@pytest.mark.parametrize("query", ["status=lost", "limit=0", "offset=-1", "sort_by=colour"])
async def test_a_wrong_query_of_the_list_is_refused(shelf: Shelves, query: str) -> None:
    path = await new_collection(shelf)
    assert (await shelf["ana"].get(f"{path}/ingestion-jobs?{query}")).status_code == 400


async def test_jobs_of_others_and_of_other_collections_are_not_there(shelf: Shelves) -> None:
    path, other = await new_collection(shelf), await new_collection(shelf, owner="8")
    file = await ingested(shelf, path, "a.txt", "A shed.")
    job = f"ingestion-jobs/{file['id']}"
    assert (await shelf["ana"].get(f"{other}/{job}")).status_code == 404
    for way in ("retry", "cancel"):
        assert (await shelf["ana"].post(f"{other}/{job}/{way}")).status_code == 404
        assert (await shelf["eve"].post(f"{path}/{job}/{way}")).status_code == 404
    for address in ("ingestion-jobs", "ingestion-status", job):
        assert (await shelf["eve"].get(f"{path}/{address}")).status_code == 404
