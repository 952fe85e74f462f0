"""`/migration`, before the real services."""

import asyncio
import csv
import io
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway.library import METADATA, Library, library

JOBS = "/migration/jobs"


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Library]:
    """A gateway with its defaults."""
    async with library(tmp_path) as running:
        yield running


async def finished(shelf: Library, response: Any) -> dict[str, Any]:
    """Return a job after it has finished."""
    assert response.status_code in {200, 201}, response.text
    path = f"{JOBS}/{response.json()['id']}"
    end = time.monotonic() + 30
    while True:
        job: dict[str, Any] = (await shelf["root"].get(path)).json()
        if job["state"] in {"stopped", "done", "failed"}:
            return job
        assert time.monotonic() < end, job
        await asyncio.sleep(0.05)


async def test_a_job_sweeps_in_the_background_and_is_rolled_back(shelf: Library) -> None:
    root = shelf["root"]
    numbers = [await shelf.legacy(name=f"tutor_{index}") for index in range(3)]
    broken = await shelf.legacy(name="=broken", metadata="not-json{")
    dry = await root.post(JOBS, json={"kind": "sweep", "dry_run": True})
    job = await finished(shelf, dry)
    assert dry.headers["location"] == f"{JOBS}/{job['id']}"
    counts = {"name": "assistants", "total": 4, "changed": 3, "unchanged": 0, "refused": 1}
    assert (job["state"], job["tables"], job["author"]) == ("done", [counts], "root@example.net")
    assert (await shelf.stored(numbers[0]))["metadata"] == (await shelf.stored(1))["metadata"]

    job = await finished(shelf, await root.post(JOBS, json={"kind": "sweep"}))
    assert job["tables"] == [counts]
    path = f"{JOBS}/{job['id']}/findings"
    refusals = (await root.get(path, params={"refused": "true"})).json()["findings"]
    assert [each["row_id"] for each in refusals] == [str(broken)]
    assert refusals[0]["refusal"]
    assert (await root.get(path, params={"text": "=BROKEN"})).json()["findings"] == refusals
    assert (await root.get(path, params={"table": "users"})).json()["findings"] == []
    file = await root.get(path, params={"format": "csv"})
    rows = list(csv.DictReader(io.StringIO(file.text)))
    assert [row["row_name"] for row in rows if row["refusal"]] == ["'=broken"]
    assert file.headers["content-type"].startswith("text/csv")

    job = await finished(shelf, await root.post(JOBS, json={"kind": "rollback"}))
    assert (job["tables"][0]["changed"], job["tables"][0]["refused"]) == (3, 0)
    listed = (await root.get(JOBS, params={"page_size": 2})).json()
    assert [each["kind"] for each in listed["jobs"]] == ["rollback", "sweep"]
    following = {"page_size": 2, "page_token": listed["next_page_token"]}
    [oldest] = (await root.get(JOBS, params=following)).json()["jobs"]
    assert oldest["dry_run"]


async def test_a_job_that_does_not_change_is_not_sent_again(shelf: Library) -> None:
    root = shelf["root"]
    job = await finished(shelf, await root.post(JOBS, json={"kind": "sweep"}))
    path = f"{JOBS}/{job['id']}"
    first = await root.get(path)
    known = {"if-none-match": first.headers["etag"]}
    again = await root.get(path, headers=known)
    assert (again.status_code, again.content) == (304, b"")
    assert (await root.delete(path)).json()["state"] == "done"
    response = await root.post(f"{path}/continue")
    assert response.status_code == 400
    assert (await root.get(f"{JOBS}/999")).status_code == 404
    assert (await root.post(JOBS, json={"kind": "dance"})).json()["error"]["param"] == "kind"


async def test_a_job_that_fails_says_what_to_do_and_can_be_continued(shelf: Library) -> None:
    root = shelf["root"]
    started = await root.post(JOBS, json={"kind": "import"})
    job = await finished(shelf, started)
    assert (job["state"], "HEDDLE_MIGRATION_LAMB_DATABASE" in job["error"]) == ("failed", True)
    again = await finished(shelf, await root.post(f"{JOBS}/{job['id']}/continue"))
    assert (again["state"], again["interruptions"]) == ("failed", 1)
    events = (await root.get("/audit", params={"object_type": "migration"})).json()["events"]
    assert [each["action"] for each in events] == ["migration.continue", "migration.start"]


async def test_only_operators_migrate(shelf: Library) -> None:
    job = await finished(shelf, await shelf["root"].post(JOBS, json={"kind": "sweep"}))
    for person in ("ana", "head"):
        client = shelf[person]
        responses = [
            await client.get(JOBS),
            await client.post(JOBS, json={"kind": "sweep"}),
            await client.get(f"{JOBS}/{job['id']}"),
            await client.get(f"{JOBS}/{job['id']}/findings"),
            await client.get(f"{JOBS}/{job['id']}/report"),
            await client.delete(f"{JOBS}/{job['id']}"),
            await client.post(f"{JOBS}/{job['id']}/continue"),
            await client.post("/migration/convert", json={"metadata": "{}"}),
        ]
        assert [each.status_code for each in responses] == [403] * 8


async def test_an_assistant_is_shown_before_and_after(shelf: Library) -> None:
    root = shelf["root"]
    number = await shelf.legacy()
    shown = (await root.post("/migration/convert", json={"id": str(number)})).json()
    assert (shown["from_version"], shown["to_version"]) == (1, 2)
    assert shown["before"] == METADATA
    assert shown["after"]["_format_version"] == 2
    assert shown["assistant"]["tools"][0]["config"]["top_k"] == 5
    columns = {"metadata": "not-json{"}
    assert (await root.post("/migration/convert", json=columns)).status_code == 422
    both = {"id": "1", "metadata": "{}"}
    assert (await root.post("/migration/convert", json=both)).json()["error"]["param"] == "id"
    assert (await root.post("/migration/convert", json={"id": "999"})).status_code == 404
