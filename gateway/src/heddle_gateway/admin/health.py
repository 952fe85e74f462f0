"""`/health`: whether the gateway and the services behind it are available."""

import asyncio
from typing import TYPE_CHECKING, Any

import structlog
from heddle.connector.v1.connector_pb2 import ListConnectorsRequest
from heddle.tool.v1.tool_pb2 import ListToolsRequest
from heddle_runtime.errors import HeddleError

from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.services import CHECK_TIMEOUT, ServiceClients, every

if TYPE_CHECKING:
    from heddle_gateway.state import State

log = structlog.get_logger(__name__)


async def health(state: "State", _: RawRequest) -> RawResponse:
    """Answer `GET /health`: 200 if all services are up, else 503."""
    report = await state.health_reports.get("", lambda: _report(state.services))
    healthy = not state.stopping and all(report["services"].values())
    status = "stopping" if state.stopping else "ok" if healthy else "degraded"
    return RawResponse.json({"status": status, **report}, 200 if healthy else 503)


async def alive(_: "State", __: RawRequest) -> RawResponse:
    """Answer `GET /status` and `GET /v1`, as LAMB does."""
    return RawResponse.json({"status": True})


async def _report(services: ServiceClients) -> dict[str, Any]:
    """Return for each service whether it is available, and the number of skipped plugins."""
    checks = services.checks
    available, problems = await asyncio.gather(
        asyncio.gather(*(check() for check in checks.values())), _plugin_problems(services)
    )
    return {"services": dict(zip(checks, available, strict=True)), "plugin_problems": problems}


async def _plugin_problems(services: ServiceClients) -> int | None:
    """Return the number of plugins that were skipped, None if a service does not answer."""
    lists = (
        (services.tools.ListTools, ListToolsRequest(page_size=1)),
        (services.connectors.ListConnectors, ListConnectorsRequest(page_size=1)),
    )
    count = 0
    for method, request in lists:
        try:
            async for page in every(method, request, CHECK_TIMEOUT):
                count += len(page.problems)
                break  # the first page lists all problems
        except HeddleError as error:
            log.warning("plugins cannot be listed", reason=error.reason)
            return None
    return count
