"""`/health/details` shows each replica of a service: where it is, its version and its problem."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest
from heddle_gateway.services import CHECK_SECONDS
from integration.browser import browser
from integration.processes import GATEWAY, Processes, processes
from runtime.ports import free_port

CONNECTOR = "heddle_connector"
HOST = "127.0.0.1"
OTHER_VERSION = "0.0.9"
SECONDS = 30.0
PATIENCE = 4
"""How many times the limit of a check a busy machine may take for an answer."""


@dataclass
class Pair:
    """A gateway and two replicas of the connector service, of two versions."""

    client: httpx.AsyncClient
    first: Processes
    second: Processes
    addresses: list[str]

    async def replicas(self) -> dict[str, dict[str, object]]:
        """Return what the gateway reports of the replicas, by address."""
        response = await self.client.get("/health/details")
        listed = response.json()["services"]["connector"]["replicas"]
        return {each.pop("address"): each for each in listed}

    async def until(
        self, holds: Callable[[dict[str, dict[str, object]]], bool]
    ) -> dict[str, dict[str, object]]:
        """Read the report until it is so, and return it."""
        async with asyncio.timeout(SECONDS):
            while not holds(replicas := await self.replicas()):
                await asyncio.sleep(0.1)
        return replicas


@pytest.fixture(params=[HOST, pytest.param("localhost", marks=pytest.mark.exhaustive)])
async def pair(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Pair]:
    """A pair that the gateway knows by addresses, or by names that it looks up."""
    ports = [free_port() for _ in range(2)]
    addresses = [f"{HOST}:{port}" for port in ports]
    (tmp_path / "second").mkdir()
    settings = {
        "HEDDLE_CONNECTOR_LISTEN": addresses[0],
        "HEDDLE_CONNECTOR_ADDRESS": ",".join(f"{request.param}:{port}" for port in ports),
    }
    async with processes(tmp_path, [], **settings) as first:
        environment = {
            **first.environment,
            "HEDDLE_CONNECTOR_LISTEN": addresses[1],
            "PYTHONPATH": f"{_other_version(tmp_path)}:{os.environ.get('PYTHONPATH', '')}",
        }
        second = replace(first, folder=tmp_path / "second", environment=environment, running={})
        first.start(GATEWAY)
        first.start(CONNECTOR)
        second.start(CONNECTOR)
        try:
            await asyncio.to_thread(first.wait_until_ready, GATEWAY)
            async with browser(first.url, timeout=PATIENCE * CHECK_SECONDS) as client:
                yield Pair(client, first, second, addresses)
        finally:
            second.kill(CONNECTOR)


def _other_version(folder: Path) -> Path:
    """Return a folder that, on the path of a process, gives it another version."""
    described = folder / "other" / f"heddle_runtime-{OTHER_VERSION}.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: heddle-runtime\nVersion: {OTHER_VERSION}\n"
    )
    return described.parent


async def test_each_replica_is_listed_with_its_version_while_one_is_killed_or_hangs(
    pair: Pair,
) -> None:
    first, second = pair.addresses
    replicas = await pair.until(lambda them: len(them) == 2 and all(map(_is_ready, them.values())))
    assert list(replicas) == pair.addresses
    versions = (version("heddle-runtime"), OTHER_VERSION)
    assert tuple(each["version"] for each in replicas.values()) == versions

    pair.first.running[CONNECTOR].send_signal(signal.SIGSTOP)
    replicas = await pair.until(lambda them: not _is_ready(them[first]))
    assert "does not answer" in str(replicas[first]["problem"])
    assert _is_ready(replicas[second])
    pair.first.running[CONNECTOR].send_signal(signal.SIGCONT)
    await pair.until(lambda them: _is_ready(them[first]))

    pair.second.kill(CONNECTOR)
    replicas = await pair.until(lambda them: not _is_ready(them[second]))
    assert "does not answer (UPSTREAM_UNAVAILABLE)" in str(replicas[second]["problem"])
    assert replicas[second]["version"] == ""
    assert _is_ready(replicas[first])

    pair.second.start(CONNECTOR)
    await pair.until(lambda them: all(map(_is_ready, them.values())))


def _is_ready(replica: dict[str, object]) -> bool:
    return replica["ready"] is True
