"""Spans of the parts of a request.

The gateway draws requests. Whether the current one was drawn is the last flag of its `traceparent`,
which services pass on anyway. Spans are those of OpenTelemetry, in its own context, so that
instrumentation of others finds their parents.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from heddle_runtime.errors import error_type
from heddle_runtime.identity import call_metadata
from heddle_runtime.identity.call_metadata import CALLER, NO_CALLER, caller

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

Value = str | int | float | bool | Sequence[str]
Attributes = Mapping[str, Value]
Kind = Literal["INTERNAL", "SERVER", "CLIENT"]
ResultT = TypeVar("ResultT")
SAMPLED = "-01"
_UNSAMPLED = "-00"
_SPAN_ID = slice(36, 52)
"""The place of the span's id in a `traceparent`."""
_MAX_CHARACTERS = 256
_PLAIN = frozenset({bool, int, float})
_SAFE = frozenset({"heddle.request_id"})
"""Attributes that need no search for secrets: they hold no text of users, and a search is slow."""
tracer: "Tracer | None" = None
"""Makes spans; None if this process exports none. Set by `use`."""
_trace: Any = None
_context: Any = None
"""Modules of the library, which `use` imports: an import in a function costs at each call."""


def use(new: "Tracer | None") -> None:
    """Make spans with a tracer from now on; None: make none."""
    global tracer, _trace, _context  # noqa: PLW0603 - one tracer per process
    if new is not None:
        from opentelemetry import context, trace  # noqa: PLC0415 - only if traces are on

        _trace, _context = trace, context
    tracer = new
    call_metadata.trace_of_calls = trace_of_calls


def is_on() -> bool:
    """Return whether this process exports spans."""
    return tracer is not None


def is_drawn() -> bool:
    """Return whether spans of the current request are exported."""
    if tracer is None:
        return False
    traceparent = CALLER.get(NO_CALLER).traceparent
    return traceparent != "" and traceparent.endswith(SAMPLED)


def current_span_id(traceparent: str) -> str:
    """Return the id of the span that log lines of a drawn request belong to, otherwise "".

    Outside of the spans of this process it is the span of the process that made the call.

    Args:
        traceparent: The trace context of the request.
    """
    if tracer is None or not traceparent.endswith(SAMPLED):
        return ""
    return trace_of_calls(traceparent)[_SPAN_ID]


def exemplar() -> dict[str, str]:
    """Return the ids by which metrics refer to the current span of a drawn request."""
    _, trace_id, span_id, _ = trace_of_calls(caller().traceparent).split("-")
    return {"trace_id": trace_id, "span_id": span_id}


def _traceparent(current: "Span") -> str:
    context = current.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}{SAMPLED}"


def drawn(traceparent: str) -> str:
    """Return a trace context that services export spans for."""
    return f"{traceparent[:-3]}{SAMPLED}"


def undrawn(traceparent: str) -> str:
    """Return a trace context that services export no spans for."""
    return f"{traceparent[:-3]}{_UNSAMPLED}" if traceparent else ""


def trace_of_calls(traceparent: str) -> str:
    """Return the trace context of a call that the current span makes.

    Args:
        traceparent: The trace context of the request.
    """
    if tracer is None or not traceparent.endswith(SAMPLED):
        return traceparent
    current = _trace.get_current_span()
    return _traceparent(current) if current.get_span_context().is_valid else traceparent


class SpanBlock:
    """One span. Use as a context manager, or with `call` or `stream`.

    The span is current while its own code runs: during the block or the awaited call, or while a
    stream makes its next item. A generator must not set a context variable across its `yield`:
    its reader would see it, and another task may close it.
    """

    __slots__ = ("_span", "_token")

    def __init__(self, span: "Span") -> None:
        self._span = span
        self._token: Any = None

    def __enter__(self) -> None:
        self._token = _context.attach(_trace.set_span_in_context(self._span))

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        self._detach()
        self._end(error)

    def context(self) -> str:
        """Return the trace context of calls that this span makes."""
        return _traceparent(self._span)

    def _detach(self) -> None:
        _context.detach(self._token)

    def _end(self, error: BaseException | None) -> None:
        if error is not None and not isinstance(error, GeneratorExit):
            reason = error_type(error)
            if reason == "CANCELLED":
                self._span.set_attribute("heddle.cancelled", value=True)
            else:
                _set_failure(self._span, reason)
        elif error is not None:
            self._span.set_attribute("heddle.cancelled", value=True)
        self._span.end()

    async def stream(self, items: AsyncGenerator[ResultT]) -> AsyncGenerator[ResultT]:
        """Yield the items of a stream. The span ends with it, or when its reader leaves."""
        try:
            async with aclosing(items):
                while True:
                    self.__enter__()
                    try:
                        item = await anext(items)
                    except StopAsyncIteration:
                        break
                    finally:
                        self._detach()
                    yield item
        except BaseException as error:
            self._end(error)
            raise
        self._end(None)


_NOTHING: AbstractContextManager[None] = nullcontext()


def span(
    name: str, kind: Kind = "INTERNAL", attributes: Callable[[], Attributes] | None = None
) -> AbstractContextManager[None]:
    """Return the span of a block. Nothing if the request was not drawn.

    Args:
        name: Its name, without texts of users.
        kind: Its role.
        attributes: Returns its attributes; called for drawn requests only.
    """
    return started(name, kind, attributes) if is_drawn() else _NOTHING


def started(
    name: str, kind: Kind = "INTERNAL", attributes: Callable[[], Attributes] | None = None
) -> SpanBlock:
    """Start the span of a drawn request.

    Its parent is the current span, or the span of the process that made this call.
    """
    assert tracer is not None  # noqa: S101 - the request was drawn
    parent = None if _trace.get_current_span().get_span_context().is_valid else _remote_parent()
    values = cleaned(attributes()) if attributes is not None else None
    return SpanBlock(tracer.start_span(name, parent, _trace.SpanKind[kind], values))


def traced_stream(
    items: AsyncGenerator[ResultT],
    name: str,
    kind: Kind = "INTERNAL",
    attributes: Callable[[], Attributes] | None = None,
) -> AsyncGenerator[ResultT]:
    """Return a stream with a span; the stream itself if the request was not drawn."""
    return started(name, kind, attributes).stream(items) if is_drawn() else items


def traced_call(
    work: Coroutine[Any, Any, ResultT],
    name: str,
    kind: Kind = "INTERNAL",
    attributes: Callable[[], Attributes] | None = None,
) -> Coroutine[Any, Any, ResultT]:
    """Return work with a span; the work itself if the request was not drawn."""
    return _within(started(name, kind, attributes), work) if is_drawn() else work


async def _within(block: SpanBlock, work: Coroutine[Any, Any, ResultT]) -> ResultT:
    with block:
        return await work


def annotate(attributes: Callable[[], Attributes], name: str = "") -> None:
    """Add attributes to the current span of a drawn request, and rename it if a name is known."""
    if not is_drawn():
        return
    current = _trace.get_current_span()
    current.set_attributes(cleaned(attributes()))
    if name:
        current.update_name(name)


def add_event(name: str, attributes: Attributes) -> None:
    """Add what happened at this moment to the current span of a drawn request."""
    if is_drawn():
        _trace.get_current_span().add_event(name, cleaned(attributes))


def fail(reason: str) -> None:
    """Mark the current span of a drawn request as failed."""
    if is_drawn():
        _set_failure(_trace.get_current_span(), reason)


def _set_failure(current: "Span", reason: str) -> None:
    """Mark a span as failed. It keeps the first reason, which is the closest to the cause."""
    if "error.type" not in (getattr(current, "attributes", None) or ()):
        current.set_attribute("error.type", reason)
    current.set_status(_trace.StatusCode.ERROR)


def cleaned(attributes: Attributes) -> dict[str, Value]:
    """Return the attributes that have a value, shortened and without secrets and addresses."""
    from heddle_runtime.redaction import known_secrets  # noqa: PLC0415 - only for drawn requests

    rules = known_secrets()
    return {
        name: value if name in _SAFE else _clean(value, rules)
        for name, value in attributes.items()
        if value not in ("", None)
    }


def _clean(value: Value, rules: tuple[object, ...]) -> Value:
    if isinstance(value, str):
        return _clean_text(value, rules)
    if type(value) in _PLAIN:
        return value
    return [_clean_text(each, rules) for each in cast("Sequence[str]", value)]


@lru_cache(4096)
def _clean_text(text: str, _: tuple[object, ...]) -> str:
    """Return a text of an attribute. Most of them are the same in all requests."""
    from heddle_runtime.redaction import redact_personal  # noqa: PLC0415 - only for drawn requests

    return str(redact_personal(text))[:_MAX_CHARACTERS]


def _remote_parent() -> Any:  # noqa: ANN401 - a context of OpenTelemetry
    """Return the context of the span that is the parent of this process's first one."""
    traceparent = CALLER.get().traceparent
    if not traceparent:  # the first span of all: the gateway's
        return None
    _, trace_id, span_id, _ = traceparent.split("-")
    remote = _trace.SpanContext(
        int(trace_id, 16),
        int(span_id, 16),
        is_remote=True,
        trace_flags=_trace.TraceFlags(_trace.TraceFlags.SAMPLED),
    )
    return _trace.set_span_in_context(_trace.NonRecordingSpan(remote))
