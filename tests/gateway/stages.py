"""A gateway before scripted services: in the process of a test, or two replicas."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from gateway.accounts import at_replicas
from gateway.conftest import KEY, Bench, gateway

from gateway import replicas


@asynccontextmanager
async def staged_gateway(**settings: Any) -> AsyncGenerator[Bench]:
    """Yield a gateway with these settings, or two replicas."""
    if replicas.INSTALLATION is None:
        async with gateway(**settings) as bench:
            yield bench
        return
    if settings.get("development"):
        settings["api_key"] = None
    stage = replicas.INSTALLATION.stage
    async with (
        at_replicas(replicas.INSTALLATION, settings) as pair,
        pair.client(KEY) as client,
    ):
        yield Bench(pair.address, client, stage.neighbours, stage.services)


def gateways_in_use() -> int:
    """Return how many gateways the requests of a test reach."""
    return 2 if replicas.INSTALLATION and replicas.INSTALLATION.which == "turns" else 1
