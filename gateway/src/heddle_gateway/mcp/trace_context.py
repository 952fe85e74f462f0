"""The trace context of an MCP message, `params._meta.traceparent`. It counts before the header."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from heddle_runtime.identity.call_metadata import CALLER, caller
from heddle_runtime.telemetry import spans

from heddle_gateway.auth.trace_flag import flag_counts
from heddle_gateway.http.raw import RawRequest, is_traceparent
from heddle_gateway.state import State


class _Meta(msgspec.Struct):
    traceparent: str = ""


class _Parameters(msgspec.Struct):
    meta: _Meta = msgspec.field(default_factory=_Meta, name="_meta")


class _Message(msgspec.Struct):
    params: _Parameters = msgspec.field(default_factory=_Parameters)


_decode = msgspec.json.Decoder(_Message).decode


async def adopt_trace(state: State, request: RawRequest, body: bytes) -> None:
    """Continue the trace that a message names, in the calls and the log line of the request."""
    try:
        sent = _decode(body).params.meta.traceparent
    except msgspec.MsgspecError:  # the SDK reports what is wrong
        return
    if not is_traceparent(sent):
        return
    if spans.is_drawn() or (
        spans.is_on() and await flag_counts(request, state.authenticator, sent)
    ):
        sent = spans.drawn(sent)
    elif spans.is_on():
        sent = spans.undrawn(sent)
    request.trace = sent
    CALLER.set(msgspec.structs.replace(caller(), traceparent=sent))


@contextmanager
def tool_span(name: str, protocol_version: str) -> Iterator[None]:
    """Open the span of a call of a tool, whose parent is the span that the message names."""
    with spans.span(
        "tools/call",
        "SERVER",
        lambda: {
            "mcp.method.name": "tools/call",
            "mcp.protocol.version": protocol_version,
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
        },
    ):
        yield
