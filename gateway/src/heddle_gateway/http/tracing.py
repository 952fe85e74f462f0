"""The span of a request."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.telemetry import log_fields, spans

from heddle_gateway.http.raw import RawRequest

_MAX_METHOD_CHARACTERS = 20
_CHAT_ID = "x-openwebui-chat-id"
_CONVERSATION = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)


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


def describe_request(request: RawRequest, code: int, *, with_user: bool) -> None:
    """Add the outcome of a request to its span.

    Args:
        request: The request.
        code: The status of its response.
        with_user: Whether to add the pseudonym of the caller and the conversation.
    """
    method = request.scope["method"][:_MAX_METHOD_CHARACTERS]
    outcome: dict[str, spans.Value] = {
        "http.route": request.route,
        "http.response.status_code": code,
    }
    if request.client_gone:
        outcome["heddle.cancelled"] = True
    if with_user and request.credential is not None:
        outcome["user.id"] = log_fields.pseudonym(request.credential.identity.subject)
        outcome["langfuse.trace.tags"] = _tags(request.credential.identity)
        if _CONVERSATION.fullmatch(conversation := request.header(_CHAT_ID)):
            outcome["session.id"] = outcome["gen_ai.conversation.id"] = conversation
    spans.annotate(lambda: outcome, f"{method} {request.route}")
    if code >= 500:  # noqa: PLR2004 - the conventions: errors of clients are none of the server
        spans.fail(log_fields.current().error or str(code))


def _tags(identity: Identity) -> list[str]:
    """Return the tags by which Langfuse sorts traces: the organisation and the assistant."""
    known = {"organization": home(identity), "assistant": log_fields.current().assistant}
    return [f"{name}:{value}" for name, value in known.items() if value]
