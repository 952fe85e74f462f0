"""A collector of traces that decodes what it receives, counts the spans and forgets them.

It speaks OTLP over HTTP. `GET /` returns how many spans have arrived.

Run as `python -m benchmarks.gateway.collector PORT`.
"""

import sys

from aiohttp import web
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb

_ANSWER = pb.ExportTraceServiceResponse().SerializeToString()


class Collector:
    """Counts spans."""

    def __init__(self) -> None:
        self._spans = 0

    async def take(self, request: web.Request) -> web.Response:
        """Count the spans of one export."""
        body = await request.read()  # aiohttp has decompressed it
        export = pb.ExportTraceServiceRequest.FromString(body)
        self._spans += sum(
            len(scope.spans) for resource in export.resource_spans for scope in resource.scope_spans
        )
        return web.Response(body=_ANSWER, content_type="application/x-protobuf")

    async def count(self, _: web.Request) -> web.Response:
        """Return the number of spans."""
        return web.json_response(self._spans)


def serve(port: int) -> None:
    """Serve until the process is ended."""
    collector = Collector()
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_post("/v1/traces", collector.take)
    app.router.add_get("/", collector.count)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
