"""The span of a request."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.telemetry import log_fields, spans

from heddle_gateway.http.raw import RawRequest

_MAX_METHOD_CHARACTERS = 20


@contextmanager
def server_span(request: RawRequest) -> Iterator[None]:
    """Open the root span of a request that was drawn.

    The trace is the client's, or the request id is the id of a new one.
    """
    if request.trace:
        trace = spans.drawn(request.trace)
        CALLER.set(msgspec.structs.replace(CALLER.get(), traceparent=trace))
    method = request.scope["method"][:_MAX_METHOD_CHARACTERS]
    block = spans.started(
        method,
        "SERVER",
        lambda: {
            "http.request.method": method,
            "url.scheme": request.scope["scheme"],
            "heddle.request_id": request.request_id,
        },
    )
    with block:
        request.trace = block.context()
        CALLER.set(Caller(request.request_id, traceparent=request.trace))
        yield


def describe_request(request: RawRequest, code: int) -> None:
    """Add the outcome of a request, with the status `code`, to its span."""
    method = request.scope["method"][:_MAX_METHOD_CHARACTERS]
    outcome: dict[str, spans.Value] = {
        "http.route": request.route,
        "http.response.status_code": code,
    }
    if request.client_gone:
        outcome["heddle.cancelled"] = True
    spans.annotate(lambda: outcome, f"{method} {request.route}")
    if code >= 500:  # noqa: PLR2004 - the conventions: errors of clients are none of the server
        spans.fail(log_fields.current().error or str(code))
