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
from heddle_runtime.telemetry import content, spans

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

log = structlog.get_logger(__name__)
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HEADERS = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_SHUTDOWN_SECONDS = 3.0
_SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
_DRAWS = random.Random()  # noqa: S311 - not a secret


class SpanSettings(BaseSettings):
    """Settings: what spans contain."""

    model_config = SettingsConfigDict(
        env_ignore_empty=True, extra="ignore", frozen=True, populate_by_name=True
    )

    traces_content: bool = Field(
        default=False,
        validation_alias="HEDDLE_TRACES_CONTENT",
        description="Whether spans contain prompts, answers, arguments and results of tools, "
        "questions and ids of passages, without secrets and e-mail addresses. Set it for all "
        "services. An organisation can forbid it (telemetry: {content: false} in its settings).",
    )


class TracesSettings(SpanSettings):
    """Settings: which requests are traced."""

    traces_sample: float = Field(
        default=0.01,
        ge=0,
        le=1,
        validation_alias="HEDDLE_TRACES_SAMPLE",
        description="The share of requests whose spans are exported, if the environment names a "
        "collector (OTEL_EXPORTER_OTLP_ENDPOINT). The gateway draws them. A traced request costs "
        "up to three times as much.",
    )
    traces_users: bool = Field(
        default=False,
        validation_alias="HEDDLE_TRACES_USERS",
        description="Whether the span of a request has the pseudonym of the caller (user.id), "
        "tags with the organisation and the assistant, and the conversation (session.id).",
    )


@contextmanager
def exporting(service: str, settings: SpanSettings) -> Iterator[None]:
    """Export spans until the block is left, if the environment names a collector."""
    if not any(os.environ.get(name) for name in _ENDPOINTS):
        yield
        return
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - only if traces are on
    from opentelemetry.sdk.trace import SpanLimits, TracerProvider  # noqa: PLC0415 - as above

    from heddle_runtime.telemetry.span_processing import (  # noqa: PLC0415 - as above
        CountedProcessor,
        RequestIdGenerator,
        RequestLimit,
    )

    name = os.environ.get("OTEL_SERVICE_NAME") or f"heddle-{service}"
    resource = Resource.create(
        {"service.name": name, "service.version": version("heddle-runtime")}, _SCHEMA
    )
    provider = TracerProvider(
        sampler=RequestLimit(),
        resource=resource,
        shutdown_on_exit=False,
        id_generator=RequestIdGenerator(),
        # `spans` shortens all values but those of `content`.
        span_limits=SpanLimits(
            max_attributes=64, max_events=32, max_attribute_length=content.MAX_BYTES
        ),
    )
    register_values(_secrets(), provider)
    processor = CountedProcessor(_exporter())
    provider.add_span_processor(processor)
    spans.use(provider.get_tracer("heddle", version("heddle-runtime"), schema_url=_SCHEMA))
    content.switch(on=settings.traces_content)
    try:
        yield
    finally:
        spans.use(None)
        content.switch(on=False)
        # The SDK waits for up to 30 seconds for a collector that does not answer.
        ending = Thread(target=provider.shutdown, name="last-export", daemon=True)
        ending.start()
        ending.join(_SHUTDOWN_SECONDS)
        if ending.is_alive():
            log.warning("the collector does not answer", lost_spans=processor.waiting)


def draw(share: float) -> bool:
    """Return whether a request is traced, if traces are on."""
    return _DRAWS.random() < share


def _secrets() -> list[str]:
    """Return the values of the headers of exports, with which collectors know their clients."""
    texts = (os.environ.get(name, "") for name in _HEADERS)
    values = (pair.partition("=")[2].strip() for text in texts for pair in text.split(","))
    return [form for value in values for form in (value, unquote(value))]


def _exporter() -> "SpanExporter":
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
