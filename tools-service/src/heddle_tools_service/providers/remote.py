"""Sends requests to other servers. Failures are the errors that tools raise."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from heddle_runtime.http import remote_json

from heddle_tools_service.sdk import ToolError, ToolUnavailableError


async def fetch(http: httpx.AsyncClient, request: httpx.Request, server: str) -> tuple[int, Any]:
    """Send a request and return the answer's status, below 500, and its JSON value.

    Raises:
        ToolError: The server redirects, may not be reached, or its answer cannot be used.
        ToolUnavailableError: It does not answer, is broken or busy.
    """
    with tool_errors():
        return await remote_json.fetch(http, request, server)


@contextmanager
def tool_errors() -> Iterator[None]:
    """Raise the errors of `remote_json` in the block as those of tools.

    Raises:
        ToolError: A server refuses, or its answer cannot be used.
        ToolUnavailableError: It does not answer, is broken or busy.
    """
    try:
        yield
    except remote_json.RemoteUnavailableError as error:
        raise ToolUnavailableError(str(error)) from error
    except remote_json.RemoteError as error:
        raise ToolError(str(error)) from error
