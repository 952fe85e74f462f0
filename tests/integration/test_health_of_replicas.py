"""`/health/details` shows each replica of a service: where it is, its version and its problem."""

import asyncio
import signal
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest
from heddle_gateway.services import CHECK_SECONDS
from integration.browser import browser
from integration.two_connectors import CONNECTOR, HOST, OTHER_VERSION, two_connectors

SECONDS = 30.0
PATIENCE = 4
"""How many times the limit of a check a busy machine may take for an answer."""
Replicas = dict[str, dict[str, Any]]
"""What the gateway reports of the replicas, by address."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("host", [HOST, pytest.param("localhost", id="looked up")])
async def test_each_replica_is_listed_with_its_version_while_one_is_killed_or_hangs(
    tmp_path: Path, host: str
) -> None:
    with two_connectors(tmp_path, host) as pair:
        async with browser(pair.first.url, timeout=PATIENCE * CHECK_SECONDS) as client:
            first, second = pair.addresses
            replicas = await _report(client, _are_ready)
            assert [*replicas] == pair.addresses
            assert replicas[first]["version"] == version("heddle-runtime")
            assert replicas[second]["version"] == OTHER_VERSION

            pair.first.running[CONNECTOR].send_signal(signal.SIGSTOP)
            replicas = await _report(client, lambda them: not them[first]["ready"])
            assert "does not answer" in replicas[first]["problem"]
            assert replicas[second]["ready"]
            pair.first.running[CONNECTOR].send_signal(signal.SIGCONT)
            await _report(client, _are_ready)

            pair.second.kill(CONNECTOR)
            replicas = await _report(client, lambda them: not them[second]["ready"])
            assert "does not answer (UPSTREAM_UNAVAILABLE)" in replicas[second]["problem"]
            assert replicas[second]["version"] == ""
            assert replicas[first]["ready"]

            pair.second.start(CONNECTOR)
            await _report(client, _are_ready)


async def _report(client: httpx.AsyncClient, holds: Callable[[Replicas], bool]) -> Replicas:
    """Read the report until it is so, and return it."""
    async with asyncio.timeout(SECONDS):
        while True:
            response = await client.get("/health/details")
            listed = response.json()["services"]["connector"]["replicas"]
            replicas = {each["address"]: each for each in listed}
            if holds(replicas):
                return replicas
            await asyncio.sleep(0.1)


def _are_ready(replicas: Replicas) -> bool:
    return len(replicas) > 1 and all(each["ready"] for each in replicas.values())
