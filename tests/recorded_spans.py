"""Records the spans of this process, as if a collector received them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from heddle_runtime.telemetry import spans
from heddle_runtime.telemetry.span_processing import RequestIdGenerator
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
DRAWN = f"00-{TRACE_ID}-{PARENT}-01"
"""The trace context of a drawn request."""


class Recorded:
    """The spans that have ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def of(self, name: str) -> ReadableSpan:
        """Return the only span of a name."""
        [span] = [each for each in self.spans if each.name == name]
        return span

    def attributes(self, name: str) -> dict[str, Any]:
        """Return the attributes of the only span of a name."""
        return dict(self.of(name).attributes or {})


@contextmanager
def recorded() -> Iterator[Recorded]:
    """Record spans until the block is left."""
    received = Recorded()
    provider = TracerProvider(id_generator=RequestIdGenerator())
    provider.add_span_processor(SimpleSpanProcessor(received.exporter))
    spans.use(provider.get_tracer("test"))
    try:
        yield received
    finally:
        spans.use(None)
        provider.shutdown()
