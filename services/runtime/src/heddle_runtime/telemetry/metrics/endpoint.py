"""Serves the metrics of a process at a port of its own."""

from collections.abc import Generator
from contextlib import contextmanager

import structlog
from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from heddle_runtime.telemetry.metrics import table
from heddle_runtime.telemetry.metrics.gauges import Gauges

log = structlog.get_logger(__name__)


class MetricsSettings(BaseSettings):
    """Whether and where a process serves its metrics."""

    model_config = SettingsConfigDict(
        env_ignore_empty=True, extra="ignore", frozen=True, populate_by_name=True
    )

    metrics_listen: str = Field(
        default="",
        validation_alias="HEDDLE_METRICS_LISTEN",
        description="Where this process serves its metrics for Prometheus, for example "
        "127.0.0.1:9464; empty: it records none. Each process needs an address of its own. There "
        "is no authentication: let only Prometheus reach it.",
    )
    metrics_by_organization: bool = Field(
        default=False,
        validation_alias="HEDDLE_METRICS_BY_ORGANIZATION",
        description="Whether the counters of tokens name the organisation of the caller. Everyone "
        "who reads the metrics then sees the organisations and their usage.",
    )

    @field_validator("metrics_listen")
    @classmethod
    def _require_a_port(cls, value: str) -> str:
        if value and not value.rpartition(":")[2].isdecimal():
            raise ValueError("must be HOST:PORT, for example 127.0.0.1:9464")
        return value


@contextmanager
def serving_metrics(settings: MetricsSettings, service: str) -> Generator[str]:
    """Record metrics and serve them until the block is left; yield the address, if there is one.

    Each scrape is answered by a thread, so that the event loop goes on while it is rendered.

    Raises:
        OSError: The address is taken, or is none of this machine.
    """
    if not settings.metrics_listen:
        yield ""
        return
    import prometheus_client  # noqa: PLC0415 - only if metrics are on

    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call] # has no annotations
    registry = prometheus_client.CollectorRegistry()
    prometheus_client.ProcessCollector(registry=registry)
    registry.register(Gauges(service))
    host, _, port = settings.metrics_listen.rpartition(":")
    try:
        server, thread = prometheus_client.start_http_server(
            int(port), host.strip("[]") or "127.0.0.1", registry
        )
    except OSError as error:
        message = f"Cannot listen on {settings.metrics_listen} (HEDDLE_METRICS_LISTEN): {error}"
        raise OSError(message) from error
    table.switch_on(registry, by_organization=settings.metrics_by_organization)
    address = f"{host}:{server.server_port}"
    log.info("serving metrics", address=address)
    try:
        yield address
    finally:
        table.switch_off()
        server.shutdown()
        server.server_close()
        thread.join()
