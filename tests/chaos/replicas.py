"""Two replicas of each service with folders of their own, and a load balancer before the gateways.

They share a database and an object store, and nothing else.
"""

import asyncio
import contextlib
import itertools
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from integration.browser import browser
from integration.processes import MODULES, Processes
from runtime.ports import free_port

_POLL_SECONDS = 0.2
_CHECKS = ("health", "status")
"""What the methods and paths of checks contain."""


@dataclass
class Replicas:
    """Two processes for each service."""

    pair: tuple[Processes, Processes]

    @property
    def addresses(self) -> dict[str, str]:
        """The addresses of each service, by its name in settings of the gateway."""
        environment = self.pair[0].environment
        return {name.lower(): environment[f"HEDDLE_{name}_ADDRESS"] for name in MODULES.values()}

    @property
    def gateways(self) -> list[str]:
        """The addresses of the gateways."""
        return [each.url for each in self.pair]

    async def start(self) -> None:
        """Start all processes, and wait until they are ready."""
        for replica, module in itertools.product(self.pair, MODULES):
            await asyncio.to_thread(replica.start, module)
        for replica, module in itertools.product(self.pair, MODULES):
            await asyncio.to_thread(replica.wait_until_ready, module)

    async def restart(self, **environment: str) -> None:
        """Restart one process after the other, as a rolling update does, with new settings."""
        for module, replica in itertools.product(MODULES, self.pair):
            replica.environment.update(environment)
            replica.running[module].send_signal(signal.SIGTERM)
            await asyncio.to_thread(replica.running[module].wait, 30)
            await asyncio.to_thread(replica.start, module)
            await asyncio.to_thread(replica.wait_until_ready, module)

    def calls(self, module: str) -> list[int]:
        """Return how many calls of others each replica of a service has logged."""
        return [_calls(each.log(module)) for each in self.pair]

    def stop(self) -> None:
        """End all processes."""
        for replica in self.pair:
            for process in replica.running.values():
                process.kill()
                process.wait()


@dataclass
class Balancer(httpx.AsyncBaseTransport):
    """Sends requests to the gateways in turn, except to those whose `/health` is not ok.

    It does not repeat requests.
    """

    gateways: list[str]
    _wire: httpx.AsyncHTTPTransport = field(default_factory=httpx.AsyncHTTPTransport)
    _ready: list[str] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the next gateway."""
        candidates = self._ready or self.gateways
        target = httpx.URL(candidates[next(self._numbers) % len(candidates)])
        request.url = request.url.copy_with(host=target.host, port=target.port)
        return await self._wire.handle_async_request(request)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._wire.aclose()

    async def watch(self) -> None:
        """Ask the gateways for their health again and again."""
        async with browser(timeout=2) as client:
            while True:
                self._ready = [url for url in self.gateways if await _is_ready(client, url)]
                await asyncio.sleep(_POLL_SECONDS)


async def _is_ready(client: httpx.AsyncClient, url: str) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return (await client.get(f"{url}/health")).is_success
    return False


def _calls(log: str) -> int:
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    methods = [str(line.get("method", "")) for line in lines if "code" in line]
    return sum(not any(word in method.lower() for word in _CHECKS) for method in methods)


@asynccontextmanager
async def two_replicas(folder: Path, **environment: str) -> AsyncIterator[Replicas]:
    """Yield two replicas of each service, which are not started.

    Args:
        folder: Where each replica has a folder of its own.
        environment: Settings of all, with the addresses of the servers that they share.
    """
    ports = [{module: free_port() for module in MODULES} for _ in range(2)]
    addresses = {
        f"HEDDLE_{name}_ADDRESS": "ipv4:" + ",".join(f"127.0.0.1:{each[module]}" for each in ports)
        for module, name in MODULES.items()
    }
    shared = {**addresses, "HEDDLE_GATEWAY_DRAIN_WAIT": "1", **environment}
    first, second = (_replica(folder / str(n), shared, it) for n, it in enumerate(ports))
    replicas = Replicas((first, second))
    try:
        yield replicas
    finally:
        replicas.stop()


def _replica(folder: Path, shared: dict[str, str], ports: dict[str, int]) -> Processes:
    folder.mkdir()
    listen = {f"HEDDLE_{name}_LISTEN": f"127.0.0.1:{ports[it]}" for it, name in MODULES.items()}
    folders = {
        "HEDDLE_KNOWLEDGE_DATA_DIR": "knowledge",
        "HEDDLE_CONNECTOR_IMAGES_DIR": "images",
        "HEDDLE_TOOLS_WORKSPACE_DIR": "workspaces",
        "HEDDLE_ASSISTANTS_DIR": "assistants",
        "HEDDLE_LOCAL_SECRET_FILE": "identity-secret",
    }
    own = {name: str(folder / path) for name, path in folders.items()}
    return Processes(folder, {**os.environ, **own, **listen, **shared}, ports, cwd=folder)
