"""A receiver of traces that speaks OTLP over HTTP and gRPC, built on its own messages."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from aiohttp import web
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as pb_grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from web_server import web_server


async def _nothing() -> None:
    pass


@dataclass
class Receiver:
    """What was received, and where it listens."""

    http: str = ""
    grpc: str = ""
    requests: list[pb.ExportTraceServiceRequest] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    die: Callable[[], Awaitable[None]] = _nothing
    """Stops listening over HTTP."""

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def of_request(self, request_id: str) -> list[Span]:
        """Return the spans of the trace whose id is that of a request."""
        trace = bytes.fromhex("0" * 8 + request_id.removeprefix("req_"))
        return [span for span in self.spans if span.trace_id == trace]

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.raw.append(body)
        self.requests.append(pb.ExportTraceServiceRequest.FromString(body))
        answer = pb.ExportTraceServiceResponse().SerializeToString()
        return web.Response(body=answer, content_type="application/x-protobuf")


class _Servicer(pb_grpc.TraceServiceServicer):
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    async def Export(self, request: Any, context: Any) -> Any:
        self._receiver.raw.append(request.SerializeToString())
        self._receiver.requests.append(request)
        return pb.ExportTraceServiceResponse()


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """Receive traces on two free ports."""
    receiver = Receiver()
    app = web.Application()
    app.router.add_post("/v1/traces", receiver.take)
    async with AsyncExitStack() as http:
        receiver.http = await http.enter_async_context(web_server(app))
        receiver.die = http.aclose
        server = grpc.aio.server()
        pb_grpc.add_TraceServiceServicer_to_server(  # type: ignore[no-untyped-call] # generated
            _Servicer(receiver), server
        )
        receiver.grpc = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        try:
            yield receiver
        finally:
            await server.stop(0)


def stable(name: str) -> str:
    """Return the name of a span with a word for the id of a collection."""
    return re.sub(r"\bvs_\w+", "COLLECTION", name)


def tree(spans: list[Span], *, without: str = "") -> list[str]:
    """Return the spans as indented names, children in the order of their names.

    Args:
        spans: Of one trace.
        without: The prefix of names to leave out; their children move up.
    """
    children: dict[bytes, list[Span]] = {}
    known = {span.span_id for span in spans}
    for span in spans:
        parent = span.parent_span_id if span.parent_span_id in known else b""
        children.setdefault(parent, []).append(span)

    def below(parent: bytes, depth: int) -> Iterator[tuple[str, str]]:
        for span in children.get(parent, ()):
            if without and span.name.startswith(without):
                yield from below(span.span_id, depth)
                continue
            lines = [line for _, line in sorted(below(span.span_id, depth + 1))]
            kind = Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_")
            name = stable(span.name)
            line = f"{'  ' * depth}{name} ({kind})"
            yield name, "\n".join([line, *lines])

    return "\n".join(line for _, line in sorted(below(b"", 0))).split("\n")
