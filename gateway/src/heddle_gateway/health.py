"""Whether the gateway and the services behind it can answer."""

import asyncio
import time
from typing import TYPE_CHECKING, Any

import structlog
from heddle.connector.v1.connector_pb2 import ListConnectorsRequest
from heddle.tool.v1.tool_pb2 import ListToolsRequest
from heddle_runtime.errors import HeddleError

from heddle_gateway.exchange import Exchange, Reply
from heddle_gateway.peers import CHECK_TIMEOUT, Peers, every

if TYPE_CHECKING:
    from heddle_gateway.state import State

# Everybody may ask, so asking often must not become work for the services.
REMEMBERED_SECONDS = 1.0
log = structlog.get_logger(__name__)


class Health:
    """Asks the services how they are, at most once a second."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._asked = float("-inf")
        self._report: dict[str, Any] = {}
        self._lock = asyncio.Lock()

    async def report(self) -> dict[str, Any]:
        """Return, for every service, whether it is up, and how many plugins have a problem."""
        async with self._lock:
            if time.monotonic() - self._asked >= REMEMBERED_SECONDS:
                self._report = await self._ask()
                self._asked = time.monotonic()
        return self._report

    async def _ask(self) -> dict[str, Any]:
        checks = self._peers.checks
        up, problems = await asyncio.gather(
            asyncio.gather(*(check() for check in checks.values())), self._plugin_problems()
        )
        return {"services": dict(zip(checks, up, strict=True)), "plugin_problems": problems}

    async def _plugin_problems(self) -> int | None:
        """Return the number of plugins that were skipped, None if it cannot be found out."""
        lists = (
            (self._peers.tools.ListTools, ListToolsRequest(page_size=1)),
            (self._peers.connectors.ListConnectors, ListConnectorsRequest(page_size=1)),
        )
        found = 0
        for method, request in lists:
            try:
                async for page in every(method, request, CHECK_TIMEOUT):
                    found += len(page.problems)
                    break  # problems stand on the first page
            except HeddleError as error:
                log.warning("plugins cannot be listed", reason=error.reason)
                return None
        return found


async def health(state: "State", _: Exchange) -> Reply:
    """Answer `GET /health`: 200 if all services are up, else 503."""
    report = await state.health.report()
    healthy = not state.stopping and all(report["services"].values())
    status = "stopping" if state.stopping else "ok" if healthy else "degraded"
    return Reply.json({"status": status, **report}, 200 if healthy else 503)


async def alive(_: "State", __: Exchange) -> Reply:
    """Answer `GET /status` and `GET /v1`, as LAMB does."""
    return Reply.json({"status": True})
