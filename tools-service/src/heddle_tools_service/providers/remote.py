"""Reads JSON from the servers of others, without trusting that it is any, or small."""

import json
from http import HTTPStatus
from typing import Any

import httpx
from heddle_runtime.egress import SETTING, ForbiddenAddressError

from heddle_tools_service.sdk import ToolError, ToolUnavailableError

LARGEST_ANSWER = 8 * 1024 * 1024


class MisplacedError(ToolError):
    """The address of a server is wrong: it redirects, or is where it may not be."""


async def fetch(http: httpx.AsyncClient, request: httpx.Request, who: str) -> tuple[int, Any]:
    """Send a request and return the answer's status, below 500, and its JSON value.

    Raises:
        ToolError: As of `exchange`, or the server answers with nonsense.
        ToolUnavailableError: As of `exchange`.
    """
    status, body = await exchange(http, request, who)
    try:
        return status, json.loads(body)
    except (ValueError, RecursionError):
        if status >= HTTPStatus.BAD_REQUEST:
            raise ToolError(f"{who} answered {status}.") from None
        raise ToolError(f"The answer of {who} cannot be read: it is no JSON.") from None


async def exchange(http: httpx.AsyncClient, request: httpx.Request, who: str) -> tuple[int, bytes]:
    """Send a request and return the answer's status, below 500, and its body.

    Args:
        http: Must not follow redirects: what a request carries is for one address.
        request: What to ask. Nothing of it is ever told, it may hold a secret.
        who: Whom messages name, for example `Moodle`.

    Raises:
        MisplacedError: The server redirects, or may not be reached.
        ToolError: It answers with too much.
        ToolUnavailableError: It does not answer, is broken or busy.
    """
    try:
        response = await http.send(request, stream=True)
        try:
            _refuse_failure(response.status_code, who)
            return response.status_code, await _limited(response, who)
        finally:
            await response.aclose()
    except ForbiddenAddressError as error:
        raise MisplacedError(
            f"{who} is in a private network, which the operator can allow with {SETTING}."
        ) from error
    except httpx.TimeoutException as error:
        raise ToolUnavailableError(f"{who} did not answer in time.") from error
    except httpx.HTTPError as error:
        raise ToolUnavailableError(f"{who} does not answer.") from error


async def _limited(response: httpx.Response, who: str) -> bytes:
    """Return the body of an answer.

    Raises:
        ToolError: It is too large.
    """
    pieces = bytearray()
    async for piece in response.aiter_bytes():
        pieces += piece
        if len(pieces) > LARGEST_ANSWER:
            raise ToolError(f"{who} answered with more than {LARGEST_ANSWER // 1024**2} MiB.")
    return bytes(pieces)


def _refuse_failure(status: int, who: str) -> None:
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
        raise ToolUnavailableError(f"{who} answered {status}.")
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise MisplacedError(f"{who} redirects ({status}). Configure its final address.")
