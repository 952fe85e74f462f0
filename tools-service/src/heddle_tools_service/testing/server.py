"""A scripted HTTP server on this machine, for tools that send requests to other servers."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Received:
    """A request that the server received."""

    method: str
    path: str
    """With the query."""
    headers: Mapping[str, str]
    body: bytes


@dataclass
class ScriptedServer:
    """The running server."""

    url: str
    """Its address, without a path."""
    requests: list[Received] = field(default_factory=list)


@contextmanager
def scripted_server(answers: Mapping[str, Any]) -> Iterator[ScriptedServer]:
    """Serve `answers` until the end of the block.

    Args:
        answers: For each path, the body: text, bytes, or a value that is sent as JSON; or a number,
            the status of an empty response. Other paths are answered with 404.
    """

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            server.requests.append(Received(self.command, self.path, dict(self.headers), body))
            answer = answers.get(urlsplit(self.path).path, 404)
            status, content = (answer, b"") if isinstance(answer, int) else (200, _bytes(answer))
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - the names of http.server

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        server = ScriptedServer(f"http://127.0.0.1:{httpd.server_port}")
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            httpd.shutdown()
            thread.join()


def _bytes(answer: object) -> bytes:
    if isinstance(answer, bytes):
        return answer
    return (answer if isinstance(answer, str) else json.dumps(answer)).encode()
