"""The trace context of an MCP message, `params._meta.traceparent`. It counts before the header."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import CALLER, caller
from heddle_runtime.telemetry import spans

from heddle_gateway.auth.authenticator import Authenticator
from heddle_gateway.http.raw import RawRequest, is_traceparent
from heddle_gateway.state import State

_FORWARDING = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip"})
"""Headers of proxies: their connection says nothing about the client."""


async def flag_counts(request: RawRequest, authenticator: Authenticator, trace: str) -> bool:
    """Return whether a trace context that a client sent has the flag, and the client may set it."""
    if not trace.endswith(spans.SAMPLED):
        return False
    if _is_here(request):
        return True
    try:
        return await authenticator.is_trusted(request)
    except HeddleError:  # the request itself fails with it
        return False


def _is_here(request: RawRequest) -> bool:
    """Return whether a request comes from a program on this machine, not through a proxy."""
    connection = request.scope["client"]
    address = connection[0] if connection else ""
    is_loopback = address.startswith("127.") or address == "::1"
    return is_loopback and not _FORWARDING & request.headers.keys()


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
