"""`/health`: whether the gateway and the services behind it are ready."""

import asyncio
from functools import partial
from importlib.metadata import version
from typing import Literal

from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.permissions import may_administer
from pydantic import Field

from heddle_gateway.http.models import Model
from heddle_gateway.http.operations import Access
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import (
    OPTIONAL,
    SERVICES,
    ServiceHealth,
    component_health,
    replica_health,
)

routes = Routes("service", Access.OPEN)


class Alive(Model):
    """The gateway is running."""

    status: Literal[True] = True


class Health(Model):
    """The health of the gateway: `degraded` if a service is not ready.

    The status is 503 if chats depend on that service, and while the gateway stops.
    """

    status: Literal["ok", "degraded", "stopping"]
    version: str = Field(description="The version of Heddle that the gateway has.")
    services: dict[str, bool] = Field(description="By service name, whether it is ready.")
    problems: int = Field(
        description="The number of problems, skipped plugins among them. `/health/details` lists "
        "them for operators."
    )


class Component(Model):
    """A part of a service, or something that it needs."""

    name: str = Field(description="For example database, disk or plugins.")
    ready: bool = Field(description="Whether the service can work with the component as it is.")
    problem: str = Field(description="The problem and its remedy, empty if there is none.")
    summary: str = Field(
        description="What the component consists of. For the plugins of the tool service: how "
        "many tools run in the service, and in processes of their own. Empty for others."
    )


class ReplicaDetails(Model):
    """The health of one process of a service."""

    address: str = Field(description="Where it is; empty within the gateway's process.")
    ready: bool = Field(description="Whether it can work.")
    version: str = Field(description="The version of Heddle that it has; empty if unknown.")
    problem: str = Field(description="Its problems and their remedies, empty if there are none.")

    @classmethod
    def at(cls, address: str, report: ServiceHealth) -> "ReplicaDetails":
        """Return the details of the replica at an address."""
        problems = [f"{each.name}: {each.problem}" for each in report.components if each.problem]
        return cls(
            address=address,
            ready=report.ready,
            version=report.version,
            problem=report.problem or "; ".join(problems),
        )


class ServiceDetails(Model):
    """The health of a service."""

    ready: bool = Field(description="Whether the service can work.")
    problem: str = Field(description="Why nothing is known of its components, else empty.")
    components: list[Component] = Field(description="What the service needs.")
    version: str = Field(description="The version of Heddle that it has; empty if unknown.")
    replicas: list[ReplicaDetails] = Field(
        description="The replicas that the gateway knows; the other members are of one of them. "
        "Empty until the name of the service has been looked up, and for other systems."
    )


class HealthDetails(Model):
    """The health of all services, for operators."""

    status: Literal["ok", "degraded", "stopping"]
    version: str = Field(description="The version of Heddle that the gateway has.")
    services: dict[str, ServiceDetails] = Field(description="By service name, its health.")


@routes.get("/v1", "/status")
async def alive(_: Call) -> Alive:
    """Report that the gateway is running."""
    return Alive()


@routes.get("/health", responses={503: Health})
async def health(api: Call) -> Health:
    """Report which services behind the gateway are ready: reachable, writable, of one secret."""
    return _summary(api, await service_reports(api))


def _summary(api: Call, reports: dict[str, ServiceHealth]) -> Health:
    state = api.state
    missing = {name for name, report in reports.items() if not report.ready}
    needed = SERVICES.keys() - OPTIONAL
    api.status = 503 if state.stopping or missing & needed else 200
    status: Literal["ok", "degraded"] = "degraded" if missing else "ok"
    return Health(
        status="stopping" if state.stopping else status,
        version=version("heddle-gateway"),
        services={name: report.ready for name, report in reports.items()},
        problems=sum(
            bool(report.problem) + sum(bool(each.problem) for each in report.components)
            for report in reports.values()
        ),
    )


@routes.get("/health/details", access=Access.KEY, responses={503: HealthDetails})
async def details(api: Call) -> HealthDetails:
    """Report the components of all services and their problems. Only for operators."""
    if not may_administer(caller().identity):
        raise PermissionDeniedError("Only operators may see the details of the health.")
    reports, replicas = await asyncio.gather(service_reports(api), _replica_reports(api))
    return HealthDetails(
        status=_summary(api, reports).status,
        version=version("heddle-gateway"),
        services={
            name: ServiceDetails(
                ready=report.ready,
                problem=report.problem,
                components=[Component.of(each) for each in report.components],
                version=report.version,
                replicas=[ReplicaDetails.at(*each) for each in replicas.get(name, {}).items()],
            )
            for name, report in reports.items()
        },
    )


async def _replica_reports(api: Call) -> dict[str, dict[str, ServiceHealth]]:
    """Return the health of all replicas, by service and address. Asked at most once a second."""
    state = api.state
    channels = state.services.channels
    reports = await asyncio.gather(
        *(
            state.health_reports.get(name, partial(replica_health, to, state.credentials))
            for name, to in channels.items()
        )
    )
    return dict(zip(channels, reports, strict=True))


async def service_reports(api: Call) -> dict[str, ServiceHealth]:
    """Return the health of the services, by their names. Asked at most once a second."""
    state = api.state

    async def ask() -> dict[str, ServiceHealth]:
        clients = state.services.health
        reports = await asyncio.gather(
            *(component_health(client, state.credentials) for client in clients.values())
        )
        by_name = dict(zip(clients, reports, strict=True))
        if (system := state.other_system) is not None:
            by_name[system.name] = ServiceHealth(await system.problem())
        return by_name

    return await state.health_reports.get("", ask)
