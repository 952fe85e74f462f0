"""Runs one service on a free port of this machine, to ask it what it offers."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import grpc
import msgspec
from heddle.tool.v1 import tool_pb2, tool_pb2_grpc

_SECONDS_TO_START = 60


def openapi() -> dict[str, Any]:
    """Return the document that the gateway serves."""
    with _running("gateway") as address:
        url = f"http://{address}/openapi.json"
        until = time.monotonic() + _SECONDS_TO_START
        while True:
            try:
                with urllib.request.urlopen(url, timeout=10) as response:
                    document: dict[str, Any] = msgspec.json.decode(response.read())
                    return document
            except urllib.error.URLError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)


def tools() -> list[tool_pb2.Tool]:
    """Return the built-in tools."""
    listed: list[tool_pb2.Tool] = []
    with _running("tools") as address, grpc.insecure_channel(address) as channel:
        stub = tool_pb2_grpc.ToolServiceStub(channel)
        token = ""
        while True:
            request = tool_pb2.ListToolsRequest(page_token=token)
            response = stub.ListTools(request, timeout=_SECONDS_TO_START, wait_for_ready=True)
            listed += [tool for tool in response.tools if tool.origin == "builtin"]
            token = response.next_page_token
            if not token:
                return listed


@contextmanager
def _running(service: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    module = {"gateway": "heddle_gateway", "tools": "heddle_tools_service"}[service]
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            **{name: value for name, value in os.environ.items() if not name.startswith("HEDDLE_")},
            f"HEDDLE_{service.upper()}_LISTEN": address,
            "HEDDLE_GATEWAY_DEVELOPMENT": "true",
        }
        process = subprocess.Popen(  # noqa: S603 - fixed arguments
            [sys.executable, "-m", module], env=variables, cwd=folder, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield address
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
