"""kill -9 of those who count: what was recorded stays, what waits is recorded later."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from integration.browser import browser
from integration.processes import processes
from patience import until

COUNTING, KEEPING = "heddle_orchestrator", "heddle_assistants"
ASSISTANT = {"name": "a", "model": {"connector": "bypass", "model": "simple-bypass"}}


async def answer(client: httpx.AsyncClient) -> None:
    """Get one answer of the only assistant; who was just started is not found at once."""
    body = {"model": "lamb_assistant.1", "messages": [{"role": "user", "content": "?"}]}
    async with asyncio.timeout(20):
        while True:
            response = await client.post("/v1/chat/completions", json=body)
            if response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            await asyncio.sleep(0.1)
    assert response.status_code == httpx.codes.OK, response.text


async def recorded(client: httpx.AsyncClient, requests: int) -> Any:
    """Return the usage when it has so many answers, or more."""
    async with asyncio.timeout(20):
        while True:
            told = (await client.get("/assistants/1/usage")).json()
            if sum(model["requests"] for model in told.get("models", [])) >= requests:
                return told
            await asyncio.sleep(0.05)


@pytest.mark.exhaustive
async def test_what_was_recorded_stays_and_what_waits_comes_later(tmp_path: Path) -> None:
    async with (
        processes(tmp_path, HEDDLE_ORCHESTRATOR_ASSISTANT_CACHE_SECONDS="60") as heddle,
        browser(heddle.url) as client,
    ):
        (await client.post("/assistants", json=ASSISTANT)).raise_for_status()
        await answer(client)
        await recorded(client, 1)

        await asyncio.to_thread(heddle.kill, KEEPING)
        await answer(client)  # the orchestrator remembers the assistant
        # and fails to record the answer
        await until(lambda: "usage not recorded" in heddle.log(COUNTING))
        await asyncio.to_thread(heddle.start, KEEPING)
        await asyncio.to_thread(heddle.wait_until_ready, KEEPING)
        await recorded(client, 2)

        await asyncio.to_thread(heddle.kill, COUNTING)
        await asyncio.to_thread(heddle.start, COUNTING)
        await asyncio.to_thread(heddle.wait_until_ready, COUNTING)
        await answer(client)
        told = await recorded(client, 3)
    [model] = told["models"]
    assert model["requests"] == 3
