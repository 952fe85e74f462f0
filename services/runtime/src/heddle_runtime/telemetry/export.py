"""Exports the spans of a process to an OTLP collector."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import unquote

import structlog
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from heddle_runtime.redaction import register_values
from heddle_runtime.telemetry import spans

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

log = structlog.get_logger(__name__)
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HEADERS = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_SHUTDOWN_SECONDS = 3.0
_SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
_DRAWS = random.Random()  # noqa: S311 - not a secret


class TracesSettings(BaseSettings):
    """Settings: which requests are traced."""

    model_config = SettingsConfigDict(
        env_ignore_empty=True, extra="ignore", frozen=True, populate_by_name=True
    )

    traces_sample: float = Field(
        default=0.01,
        ge=0,
        le=1,
        validation_alias="HEDDLE_TRACES_SAMPLE",
        description="The share of requests whose spans are exported, if the environment names a "
        "collector (OTEL_EXPORTER_OTLP_ENDPOINT). The gateway draws them. A traced request costs "
        "up to three times as much.",
    )


@contextmanager
def exporting(service: str) -> Iterator[None]:
    """Export spans until the block is left, if the environment names a collector."""
    if not any(os.environ.get(name) for name in _ENDPOINTS):
        yield
        return
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - only if traces are on
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON  # noqa: PLC0415 - as above

    from heddle_runtime.telemetry.trace_ids import RequestIdGenerator  # noqa: PLC0415 - as above

    name = os.environ.get("OTEL_SERVICE_NAME") or f"heddle-{service}"
    resource = Resource.create(
        {"service.name": name, "service.version": version("heddle-runtime")}, _SCHEMA
    )
    provider = TracerProvider(
        sampler=ALWAYS_ON,  # the gateway selects the requests
        resource=resource,
        shutdown_on_exit=False,
        id_generator=RequestIdGenerator(),
    )
    register_values(_secrets(), provider)
    provider.add_span_processor(BatchSpanProcessor(_exporter()))
    spans.use(provider.get_tracer("heddle", version("heddle-runtime"), schema_url=_SCHEMA))
    try:
        yield
    finally:
        spans.use(None)
        # The SDK waits for up to 30 seconds for a collector that does not answer.
        ending = Thread(target=provider.shutdown, name="last-export", daemon=True)
        ending.start()
        ending.join(_SHUTDOWN_SECONDS)
        if ending.is_alive():
            log.warning("the collector does not answer")


def draw(share: float) -> bool:
    """Return whether a request is traced, if traces are on."""
    return _DRAWS.random() < share


def _secrets() -> list[str]:
    """Return the values of the headers of exports, with which collectors know their clients."""
    texts = (os.environ.get(name, "") for name in _HEADERS)
    values = (pair.partition("=")[2].strip() for text in texts for pair in text.split(","))
    return [form for value in values for form in (value, unquote(value))]


def _exporter() -> "SpanExporter":
    """Return the exporter of the protocol in the environment; HTTP is the default."""
    protocol = next((value for name in _PROTOCOLS if (value := os.environ.get(name))), "")
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc import (  # noqa: PLC0415 - only if traces are on
            trace_exporter as over_grpc,
        )

        return over_grpc.OTLPSpanExporter()
    from opentelemetry.exporter.otlp.proto.http import (  # noqa: PLC0415 - as above
        trace_exporter as over_http,
    )

    return over_http.OTLPSpanExporter()
