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
        job_state: dict[str, Any] = (await client.get(path)).json()
        if job_state["state"] in {"stopped", "done", "failed"}:
            return job_state
        assert time.monotonic() < end, job_state
        await asyncio.sleep(0.05)
