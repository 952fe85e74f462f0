"""Batches: each line is answered once, also if processes are killed meanwhile."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from integration.processes import GATEWAY, processes
from integration.whole import whole, write_assistant

CHAT = "/v1/chat/completions"
ECHO = "model: {connector: bypass, model: simple-bypass}\npublished: true\n"
LONG = 200.0
KILLED = 500


def line(number: int, model: str = "1", url: str = CHAT) -> str:
    """Return a line of an input file."""
    content = f"question {number}"
    body: dict[str, Any] = {"model": model}
    match url:
        case "/v1/responses":
            body["input"] = content
        case "/v1/completions":
            body["prompt"] = content
        case _:
            body["messages"] = [{"role": "user", "content": content}]
    return json.dumps({"custom_id": f"r{number}", "method": "POST", "url": url, "body": body})


async def begin(client: httpx.AsyncClient, lines: list[str], url: str = CHAT) -> dict[str, Any]:
    """Upload a file and begin its batch."""
    file = {"file": ("in.jsonl", "\n".join(lines).encode())}
    uploaded = await client.post("/v1/files", files=file, data={"purpose": "batch"})
    body = {
        "input_file_id": uploaded.json()["id"],
        "endpoint": url,
        "completion_window": "24h",
        "metadata": {"class": "7b"},
    }
    response = await client.post("/v1/batches", json=body)
    assert response.status_code == 200, response.text
    batch: dict[str, Any] = response.json()
    return batch


async def ended(client: httpx.AsyncClient, identifier: str) -> dict[str, Any]:
    """Return a batch when it has ended."""
    async with asyncio.timeout(LONG):
        while True:
            batch: dict[str, Any] = (await client.get(f"/v1/batches/{identifier}")).json()
            if batch["status"] not in ("in_progress", "cancelling"):
                return batch
            await asyncio.sleep(0.1)


async def results(client: httpx.AsyncClient, file: str | None) -> list[dict[str, Any]]:
    """Return the lines of a file of results."""
    if file is None:
        return []
    content = await client.get(f"/v1/files/{file}/content")
    return [json.loads(each) for each in content.text.splitlines()]


async def test_a_batch_is_answered_line_by_line(tmp_path: Path) -> None:
    write_assistant(tmp_path, "1", ECHO)
    async with (
        whole(tmp_path, "local") as heddle,
        httpx.AsyncClient(base_url=heddle.url, timeout=60) as client,
    ):
        begun = await begin(client, [line(0), line(1, "nobody"), line(2)])
        assert (begun["status"], begun["request_counts"]["total"]) == ("in_progress", 3)
        batch = await ended(client, begun["id"])
        assert batch["request_counts"] == {"total": 3, "completed": 2, "failed": 1}
        assert (batch["status"], batch["metadata"]) == ("completed", {"class": "7b"})
        good = await results(client, batch["output_file_id"])
        assert [each["custom_id"] for each in good] == ["r0", "r2"]
        text = good[1]["response"]["body"]["choices"][0]["message"]["content"]
        assert "question 2" in text
        [bad] = await results(client, batch["error_file_id"])
        assert (bad["custom_id"], bad["response"]["status_code"]) == ("r1", 404)
        assert bad["response"]["body"]["error"]["code"] == "model_not_found"

        for url in ("/v1/responses", "/v1/completions"):
            other = await ended(client, (await begin(client, [line(0, url=url)], url))["id"])
            assert other["request_counts"]["completed"] == 1, other
        wrong = await begin(client, [line(0), line(0)])
        assert wrong["status"] == "failed"
        assert wrong["errors"]["data"][0]["code"] == "duplicate_custom_id"
        listed = (await client.get("/v1/batches", params={"limit": 2})).json()
        assert ([each["id"] for each in listed["data"]][:1], listed["has_more"]) == (
            [wrong["id"]],
            True,
        )
        rest = await client.get("/v1/batches", params={"after": listed["last_id"]})
        assert [each["id"] for each in rest.json()["data"]][-1] == begun["id"]
        cancelled = await client.post(f"/v1/batches/{wrong['id']}/cancel")
        assert cancelled.json()["status"] == "failed"
        assert (await client.get("/v1/batches/batch_x")).status_code == 404


@pytest.mark.exhaustive
@pytest.mark.timeout(400)
async def test_no_line_is_lost_or_doubled_when_processes_are_killed(tmp_path: Path) -> None:
    write_assistant(tmp_path, "1", ECHO)
    async with (
        processes(tmp_path) as services,
        httpx.AsyncClient(base_url=services.url, timeout=60) as client,
    ):
        batch = await begin(client, [line(number) for number in range(KILLED)])
        for victim, count in ((GATEWAY, KILLED // 10), ("heddle_assistants", KILLED // 3)):
            while True:
                now = (await client.get(f"/v1/batches/{batch['id']}")).json()
                if now["request_counts"]["completed"] > count:
                    break
                await asyncio.sleep(0.05)
            assert now["status"] == "in_progress"
            services.kill(victim)
            await asyncio.to_thread(services.restart, victim)
        done = await ended(client, batch["id"])
        assert done["status"] == "completed", done
        assert done["request_counts"] == {"total": KILLED, "completed": KILLED, "failed": 0}
        counts = Counter(
            each["custom_id"] for each in await results(client, done["output_file_id"])
        )
        assert counts == Counter(f"r{number}" for number in range(KILLED))
