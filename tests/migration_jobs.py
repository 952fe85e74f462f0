"""Runs jobs of the migration over REST."""

import asyncio
import time
from typing import Any

import httpx

_SECONDS = 30.0


async def finished(client: httpx.AsyncClient, **job: Any) -> dict[str, Any]:
    """Start a job, and return it after it has finished."""
    response = await client.post("/migration/jobs", json=job)
    assert response.status_code == 201, response.text
    path = f"/migration/jobs/{response.json()['id']}"
    end = time.monotonic() + _SECONDS
    while True:
        found: dict[str, Any] = (await client.get(path)).json()
        if found["state"] in {"stopped", "done", "failed"}:
            return found
        assert time.monotonic() < end, found
        await asyncio.sleep(0.05)
