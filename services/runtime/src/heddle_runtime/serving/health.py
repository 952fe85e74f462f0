"""`python -m heddle_runtime.serving.health ADDRESS` exits with 0 if a service is healthy.

Containers use it for their health checks, because their images contain no other client. `ADDRESS`
is `host:port` or `unix:/path` of a gRPC service, or an `http://` URL.
"""

import sys
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from heddle_runtime.settings.mutual_tls import channel_from_environment

_SECONDS = 3.0
_OK = 200


def healthy(address: str) -> bool:
    """Return whether the service at `address` reports that it is healthy."""
    if address.startswith("http://"):
        return _healthy_over_http(address)
    # Otherwise gRPC would ask a proxy that the environment names.
    with channel_from_environment(address, [("grpc.enable_http_proxy", 0)]) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            request = health_pb2.HealthCheckRequest()
            answer = stub.Check(request, timeout=_SECONDS)  # type: ignore[attr-defined] # the type files omit the methods
        except grpc.RpcError:
            return False
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def _healthy_over_http(url: str) -> bool:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=_SECONDS)
    try:
        connection.request("GET", parts.path or "/")
        return connection.getresponse().status == _OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(0 if healthy(sys.argv[1]) else 1)
