"""`heddle_runtime.telemetry`: spans of drawn requests, and their context."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator

import pytest
from heddle_runtime.errors import ToolFailedError
from heddle_runtime.identity import call_metadata
from heddle_runtime.identity.call_metadata import CALLER, TRACE, Caller, new_call_options
from heddle_runtime.telemetry import spans
from heddle_runtime.telemetry.span_processing import RequestIdGenerator
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from recorded_spans import DRAWN, PARENT, TRACE_ID, recorded


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    """What is exported while traces are on."""
    with recorded() as received:
        yield received.exporter


def of(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    """Return the only exported span of a name."""
    [span] = [each for each in exporter.get_finished_spans() if each.name == name]
    return span


def current() -> str:
    """Return the id of the current span, zeros if there is none."""
    return f"{trace.get_current_span().get_span_context().span_id:016x}"


async def numbers(seen: list[str]) -> AsyncGenerator[int]:
    try:
        for number in range(10):
            seen.append(current())
            yield number
    finally:
        seen.append("closed")


async def test_a_stream_may_be_read_in_one_task_and_closed_in_another(
    exporter: InMemorySpanExporter,
) -> None:
    CALLER.set(Caller("req_1", traceparent=DRAWN))
    seen: list[str] = []
    stream = spans.traced_stream(numbers(seen), "stream")

    async def read() -> str:
        await anext(stream)
        await anext(stream)
        return current()

    async def close() -> None:
        await stream.aclose()

    outside = await asyncio.create_task(read())
    await asyncio.create_task(close())

    span = of(exporter, "stream")
    assert span.context is not None
    own = f"{span.context.span_id:016x}"
    assert seen == [own, own, "closed"]
    assert outside == "0" * 16
    assert span.attributes == {"heddle.cancelled": True}


async def test_the_reader_of_a_stream_has_its_own_span_between_two_items(
    exporter: InMemorySpanExporter,
) -> None:
    CALLER.set(Caller("req_1", traceparent=DRAWN))
    with spans.span("reader"):
        outer = current()
        async for _ in spans.traced_stream(numbers([]), "stream"):
            assert current() == outer
            with spans.span("work"):
                pass
    reader, stream = of(exporter, "reader"), of(exporter, "stream")
    assert stream.parent is not None
    assert reader.context is not None
    assert stream.parent.span_id == reader.context.span_id
    works = [each for each in exporter.get_finished_spans() if each.name == "work"]
    assert {each.parent.span_id for each in works if each.parent} == {reader.context.span_id}


async def test_a_stream_that_fails_has_the_reason(exporter: InMemorySpanExporter) -> None:
    CALLER.set(Caller("req_1", traceparent=DRAWN))

    async def failing() -> AsyncGenerator[int]:
        yield 1
        raise ToolFailedError("canary-heron-7731")

    with pytest.raises(ToolFailedError):
        async for _ in spans.traced_stream(failing(), "stream"):
            pass
    span = of(exporter, "stream")
    assert span.attributes == {"error.type": "TOOL_FAILED"}
    assert not span.status.is_ok
    assert "canary" not in span.to_json()


async def test_a_cancelled_call_ends_its_span(exporter: InMemorySpanExporter) -> None:
    CALLER.set(Caller("req_1", traceparent=DRAWN))
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(spans.traced_call(work(), "call"))
    await begun.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert of(exporter, "call").attributes == {"heddle.cancelled": True}


def test_calls_name_the_current_span_as_their_parent(exporter: InMemorySpanExporter) -> None:
    CALLER.set(Caller("req_1", traceparent=DRAWN))
    with spans.span("outer"):
        sent = dict(new_call_options(1.0)["metadata"])[TRACE]
        assert sent == f"00-{TRACE_ID}-{current()}-01"
    outer = of(exporter, "outer")
    assert outer.parent is not None
    assert f"{outer.parent.span_id:016x}" == PARENT


@pytest.mark.parametrize("traceparent", ["", DRAWN.replace("-01", "-00")])
def test_a_request_that_was_not_drawn_has_no_spans(
    exporter: InMemorySpanExporter, traceparent: str
) -> None:
    CALLER.set(Caller("req_1", traceparent=traceparent))

    def attributes() -> spans.Attributes:
        raise AssertionError("not called")

    with spans.span("nothing", attributes=attributes):
        assert current() == "0" * 16
    spans.annotate(attributes)
    stream = numbers([])
    assert spans.traced_stream(stream, "nothing", attributes=attributes) is stream
    assert dict(new_call_options(1.0)["metadata"]).get(TRACE, "") == traceparent
    assert exporter.get_finished_spans() == ()


async def test_a_failure_keeps_the_reason_that_is_closest_to_its_cause(
    exporter: InMemorySpanExporter,
) -> None:
    CALLER.set(Caller("req_1", traceparent=DRAWN))
    with pytest.raises(ToolFailedError), spans.span("tool"):
        spans.fail("tool_error")
        raise ToolFailedError("")
    assert of(exporter, "tool").attributes == {"error.type": "tool_error"}


def test_an_event_is_part_of_the_current_span(exporter: InMemorySpanExporter) -> None:
    CALLER.set(Caller("req_1", traceparent=DRAWN))
    with spans.span("work"):
        spans.add_event("retry", {"reason": "overloaded", "note": "ann@example.org"})
    [event] = of(exporter, "work").events
    assert (event.name, event.attributes) == (
        "retry",
        {"reason": "overloaded", "note": "[redacted]"},
    )


def test_log_lines_name_the_current_span_or_the_one_that_called(
    exporter: InMemorySpanExporter,
) -> None:
    assert spans.current_span_id(DRAWN) == PARENT
    CALLER.set(Caller("req_1", traceparent=DRAWN))
    with spans.span("work"):
        assert spans.current_span_id(DRAWN) == current()
    assert spans.current_span_id(spans.undrawn(DRAWN)) == ""
    assert of(exporter, "work").context is not None


def test_attributes_have_no_secrets_and_addresses_and_are_short() -> None:
    attributes: spans.Attributes = {"a": "ann@example.org", "b": "x" * 1000, "c": "", "d": 7}
    assert spans.cleaned(attributes) == {"a": "[redacted]", "b": "x" * 256, "d": 7}


def test_the_trace_id_is_the_request_id() -> None:
    generator = RequestIdGenerator()
    CALLER.set(Caller("req_" + "ab" * 12))
    assert f"{generator.generate_trace_id():032x}" == "0" * 8 + "ab" * 12
    CALLER.set(Caller("chosen-by-a-client"))
    assert generator.generate_trace_id() != generator.generate_trace_id()


OFF = """
import sys
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.telemetry import spans
from heddle_runtime.telemetry.export import SpanSettings, exporting

CALLER.set(Caller("req_1", traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01"))
with exporting("demo", SpanSettings()), spans.span("nothing"):
    assert spans.tracer is None
    assert not spans.is_drawn()
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""


def test_without_a_collector_the_library_is_not_imported() -> None:
    subprocess.run([sys.executable, "-c", OFF], check=True, timeout=30)  # noqa: S603 - see above


def test_without_traces_the_context_of_a_client_is_passed_on_as_it_is() -> None:
    assert not spans.is_on()
    assert call_metadata.trace_of_calls(DRAWN) == DRAWN
