"""`/health`: whether the gateway and the services behind it are available."""

import asyncio
from typing import Any, Literal

import structlog
from heddle.connector.v1.connector_pb2 import ListConnectorsRequest
from heddle.tool.v1.tool_pb2 import ListToolsRequest
from heddle_runtime.errors import HeddleError
from pydantic import Field

from heddle_gateway.http.models import Model
from heddle_gateway.http.operations import Access
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import CHECK_SECONDS, ServiceClients, call

log = structlog.get_logger(__name__)
routes = Routes("service", Access.OPEN)
_UNUSED_BY_CHATS = {"migration"}


class Alive(Model):
    """The gateway is running."""

    status: Literal[True] = True


class Health(Model):
    """The health of the gateway: `degraded` if a service is not available.

    The status is 503 if chats depend on that service, and while the gateway stops.
    """

    status: Literal["ok", "degraded", "stopping"]
    services: dict[str, bool] = Field(description="By service name, whether it is available.")
    plugin_problems: int | None = Field(
        description="The number of skipped plugins, null if it is unknown."
    )


@routes.get("/v1", "/status")
async def alive(_: Call) -> Alive:
    """Report that the gateway is running, as LAMB does."""
    return Alive()


@routes.get("/health", responses={503: Health})
async def health(api: Call) -> Health:
    """Report which services behind the gateway are available."""
    state = api.state
    report = await state.health_reports.get("", lambda: _report(state.services))
    missing = {name for name, available in report["services"].items() if not available}
    api.status = 503 if state.stopping or missing - _UNUSED_BY_CHATS else 200
    status: Literal["ok", "degraded"] = "degraded" if missing else "ok"
    return Health(status="stopping" if state.stopping else status, **report)


async def _report(services: ServiceClients) -> dict[str, Any]:
    """Return for each service whether it is available, and the number of skipped plugins."""
    checks = services.checks
    *available, problems = await asyncio.gather(
        *(check() for check in checks.values()), _plugin_problems(services)
    )
    return {"services": dict(zip(checks, available, strict=True)), "plugin_problems": problems}


async def _plugin_problems(services: ServiceClients) -> int | None:
    """Return the number of plugins that were skipped, None if a service does not answer."""
    lists: tuple[tuple[Any, Any], ...] = (
        (services.tools.ListTools, ListToolsRequest(page_size=1)),
        (services.connectors.ListConnectors, ListConnectorsRequest(page_size=1)),
    )
    count = 0
    for method, request in lists:
        try:
            page = await call(method, request, CHECK_SECONDS)
        except HeddleError as error:
            log.warning("plugins cannot be listed", reason=error.reason)
            return None
        count += len(page.problems)  # the first page lists all problems
    return count
