"""Reads JSON from the servers of others, without trusting that it is any, or small."""

import json
from http import HTTPStatus
from typing import Any

import httpx
from heddle_runtime.egress import SETTING, ForbiddenAddressError

from heddle_tools_service.sdk import ToolError, ToolUnavailableError

LARGEST_ANSWER = 8 * 1024 * 1024


async def fetch(http: httpx.AsyncClient, request: httpx.Request, who: str) -> tuple[int, Any]:
    """Send a request and return the answer's status, below 500, and its JSON value.

    Args:
        http: Must not follow redirects: what a request carries is for one address.
        request: What to ask. Nothing of it is ever told, it may hold a secret.
        who: Whom messages name, for example `Moodle`.

    Raises:
        ToolError: The server redirects, answers with nonsense or too much, or may not be reached.
        ToolUnavailableError: It does not answer, is broken or busy.
    """
    try:
        response = await http.send(request, stream=True)
        try:
            _refuse_failure(response.status_code, who)
            body = await limited(response, who)
        finally:
            await response.aclose()
    except ForbiddenAddressError as error:
        raise ToolError(
            f"{who} is in a private network, which the operator can allow with {SETTING}."
        ) from error
    except httpx.TimeoutException as error:
        raise ToolUnavailableError(f"{who} did not answer in time.") from error
    except httpx.HTTPError as error:
        raise ToolUnavailableError(f"{who} does not answer.") from error
    try:
        return response.status_code, json.loads(body)
    except (ValueError, RecursionError):
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            raise ToolError(f"{who} answered {response.status_code}.") from None
        raise ToolError(f"The answer of {who} cannot be read: it is no JSON.") from None


async def limited(response: httpx.Response, who: str) -> bytes:
    """Return the body of an answer.

    Raises:
        ToolError: It is too large.
    """
    pieces = bytearray()
    async for piece in response.aiter_bytes():
        pieces += piece
        if len(pieces) > LARGEST_ANSWER:
            raise ToolError(f"{who} answered with more than {LARGEST_ANSWER // 1024**2} MiB")
    return bytes(pieces)


def _refuse_failure(status: int, who: str) -> None:
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
        raise ToolUnavailableError(f"{who} answered {status}.")
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise ToolError(f"{who} redirects ({status}). Configure its final address.")
