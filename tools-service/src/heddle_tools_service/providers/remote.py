"""Reads JSON from other servers. Failures are the errors that tools raise."""

from typing import Any

import httpx
from heddle_runtime.http import remote_json
from heddle_runtime.http.remote_json import reason_in, request_uncompressed

from heddle_tools_service.sdk import ToolError, ToolUnavailableError

__all__ = ["fetch", "reason_in", "refuse_compressed", "request_uncompressed"]


async def fetch(http: httpx.AsyncClient, request: httpx.Request, server: str) -> tuple[int, Any]:
    """Send a request and return the answer's status, below 500, and its JSON value.

    Raises:
        ToolError: The server redirects, may not be reached, or its answer cannot be used.
        ToolUnavailableError: It does not answer, is broken or busy.
    """
    try:
        return await remote_json.fetch(http, request, server)
    except remote_json.RemoteUnavailableError as error:
        raise ToolUnavailableError(str(error)) from error
    except remote_json.RemoteError as error:
        raise ToolError(str(error)) from error


def refuse_compressed(response: httpx.Response, server: str) -> None:
    """Refuse a compressed answer before any of it is read.

    Raises:
        ToolError: It is compressed.
    """
    try:
        remote_json.refuse_compressed(response, server)
    except remote_json.RemoteError as error:
        raise ToolError(str(error)) from error
