"""Reads JSON from the servers of others, without trusting that it is any, or small."""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import httpx
from heddle_runtime.egress import SETTING, ForbiddenAddressError
from heddle_runtime.redaction import REDACTED, redact

from heddle_tools_service.sdk import ToolError, ToolUnavailableError

MAX_ANSWER_BYTES = 8 * 1024 * 1024
_REASONS = ("error", "detail", "message")
_MAX_REASON_CHARS = 200
_SECONDS = re.compile(r"[0-9]{1,6}")
_UNPACKED = "identity"
_BUSY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


class MisplacedError(ToolError):
    """The address of a server is wrong: it redirects, or is where it may not be."""


class BusyError(ToolUnavailableError):
    """The server asks to be left alone for a while."""

    def __init__(self, message: str, wait: float) -> None:
        """Say it.

        Args:
            message: As of `ToolError`.
            wait: Seconds that the server asks for.
        """
        super().__init__(message)
        self.wait = wait


async def fetch(
    http: httpx.AsyncClient, request: httpx.Request, who: str, *, largest: int = MAX_ANSWER_BYTES
) -> tuple[int, Any]:
    """Send a request and return the answer's status, below 500, and its JSON value.

    Raises:
        ToolError: As of `exchange`, or the server answers with nonsense.
        ToolUnavailableError: As of `exchange`.
    """
    status, body = await exchange(http, request, who, largest=largest)
    try:
        return status, json.loads(body)
    except (ValueError, RecursionError):
        if status >= HTTPStatus.BAD_REQUEST:
            raise ToolError(f"{who} answered {status}.") from None
        raise ToolError(f"The answer of {who} cannot be read: it is no JSON.") from None


async def exchange(
    http: httpx.AsyncClient, request: httpx.Request, who: str, *, largest: int = MAX_ANSWER_BYTES
) -> tuple[int, bytes]:
    """Send a request and return the answer's status, below 500, and its body.

    Args:
        http: Must not follow redirects: what a request carries is for one address.
        request: What to ask. Nothing of it is ever told, it may hold a secret.
        who: Whom messages name, for example `Moodle`.
        largest: The most bytes to take.

    Raises:
        MisplacedError: The server redirects, or may not be reached.
        ToolError: It answers with too much, or compressed.
        BusyError: It is busy and says for how long.
        ToolUnavailableError: It does not answer, is broken or busy.
    """
    want_unpacked(request)
    try:
        response = await http.send(request, stream=True)
        try:
            _refuse_failure(response, who)
            refuse_packed(response, who)
            return response.status_code, await _limited(response, who, largest)
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


def want_unpacked(request: httpx.Request) -> None:
    """Ask for an answer that is not compressed: a few kilobytes can unfold to gigabytes."""
    request.headers["accept-encoding"] = _UNPACKED


def refuse_packed(response: httpx.Response, who: str) -> None:
    """Refuse an answer that is compressed, before anything of it is read.

    Raises:
        ToolError: It is.
    """
    if response.headers.get("content-encoding", "").casefold() not in {"", _UNPACKED}:
        raise ToolError(f"{who} compresses its answers though told not to.")


def reason_in(content: object, secret: str) -> str:
    """Return the sentence in the JSON value of an error, wherever a server puts it.

    Args:
        content: The value.
        secret: What was sent, in case the server repeats it; may be empty.
    """
    while isinstance(content, Mapping):
        content = next((content[name] for name in _REASONS if name in content), "")
    reason = " ".join(content.split()) if isinstance(content, str) else ""
    reason = reason.replace(secret, REDACTED) if secret else reason
    return redact(reason)[:_MAX_REASON_CHARS].rstrip(".")


async def _limited(response: httpx.Response, who: str, largest: int) -> bytes:
    """Return the body of an answer.

    Raises:
        ToolError: It is too large.
    """
    pieces = bytearray()
    async for piece in response.aiter_raw():
        pieces += piece
        if len(pieces) > largest:
            raise ToolError(f"{who} answered with more than {largest // 1024**2} MiB.")
    return bytes(pieces)


def _refuse_failure(response: httpx.Response, who: str) -> None:
    status, wait = response.status_code, response.headers.get("Retry-After", "")
    if status in _BUSY and _SECONDS.fullmatch(wait):
        raise BusyError(f"{who} answered {status}: ask again in {wait} s.", float(wait))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
        raise ToolUnavailableError(f"{who} answered {status}.")
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise MisplacedError(f"{who} redirects ({status}). Configure its final address.")
