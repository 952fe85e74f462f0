"""Names and limits the spans of a request, and counts those that no collector received.

Imported only if traces are on.
"""

import os
from collections.abc import Sequence
from threading import Lock

from opentelemetry.context import Context
from opentelemetry.sdk.environment_variables import OTEL_BSP_MAX_QUEUE_SIZE
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import Link, SpanKind, TraceState
from opentelemetry.util.types import Attributes

from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.telemetry.metrics import table

MAX_SPANS = 500
"""The maximum number of spans of one request in one process."""
_MAX_REQUESTS = 4096
"""The maximum number of requests whose spans are counted, the latest ones."""
_QUEUE_SIZE = 2048
"""The SDK's own default."""
_COUNTING = Lock()
_PREFIX = "req_"
_DIGITS = 24


class RequestIdGenerator(RandomIdGenerator):
    """Makes the trace id of a request from its request id, so that log lines need no other one.

    An id that a client has chosen is no trace id: such a request has a trace context already.
    """

    def generate_trace_id(self) -> int:
        """Return the number in the id of the current request; a random one outside of requests."""
        request_id = caller().request_id
        digits = request_id.removeprefix(_PREFIX)
        if digits != request_id and len(digits) == _DIGITS:
            return int(digits, 16) or super().generate_trace_id()
        return super().generate_trace_id()


def count_lost(count: int, reason: str) -> None:
    """Count lost spans. Called by several threads."""
    with _COUNTING:
        table.DROPPED_SPANS.add(count, reason)


class RequestLimit(Sampler):
    """Records the first `MAX_SPANS` spans of each request; the gateway selects the requests."""

    def __init__(self) -> None:
        self._spans: dict[int, int] = {}
        self._lock = Lock()  # several threads begin spans

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """Return whether a span is made."""
        with self._lock:
            before = self._spans.get(trace_id, 0)
            if before < MAX_SPANS:
                if not before and len(self._spans) >= _MAX_REQUESTS:
                    del self._spans[next(iter(self._spans))]
                self._spans[trace_id] = before + 1
                return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes)
        count_lost(1, "too_many")
        return SamplingResult(Decision.DROP)

    def get_description(self) -> str:
        """Return the SDK's description of this sampler."""
        return "RequestLimit"


class CountedProcessor(BatchSpanProcessor):
    """The SDK's queue of spans, which counts those that it drops because it is full."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._size = _queue_size()
        self._waiting = 0
        self._lock = Lock()  # a thread of the SDK exports, other threads end spans
        super().__init__(_CountedExporter(exporter, self), max_queue_size=self._size)

    @property
    def waiting(self) -> int:
        """The number of spans that wait for their export."""
        return self._waiting

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span. A full queue drops its oldest one instead of growing."""
        with self._lock:
            is_full = self._waiting >= self._size
            self._waiting += not is_full
        if is_full:
            count_lost(1, "queue_full")
        super().on_end(span)

    def take(self, count: int) -> None:
        """Record that spans have left the queue."""
        with self._lock:
            self._waiting -= count


class _CountedExporter(SpanExporter):
    """Passes spans on, and counts those whose export fails."""

    def __init__(self, exporter: SpanExporter, processor: CountedProcessor) -> None:
        self._exporter = exporter
        self._processor = processor

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._processor.take(len(spans))
        result = SpanExportResult.FAILURE
        try:
            result = self._exporter.export(spans)
        finally:
            if result is not SpanExportResult.SUCCESS:
                count_lost(len(spans), "not_exported")
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _queue_size() -> int:
    """Return the size of the queue of spans, as the SDK reads it."""
    text = os.environ.get(OTEL_BSP_MAX_QUEUE_SIZE, "")
    return int(text) if text.isdecimal() and int(text) else _QUEUE_SIZE
