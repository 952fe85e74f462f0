"""Reads JSON from servers that others operate. Answers may be large, compressed or no JSON.

httpx is not a dependency of the runtime: members that use this module depend on it.
"""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import httpx

from heddle_runtime.contract.json_text import MAX_VALUES, values_in
from heddle_runtime.http.egress import SETTING, ForbiddenAddressError
from heddle_runtime.redaction import REDACTED, redact_personal

MAX_ANSWER_BYTES = 8 * 1024 * 1024
_REASONS = ("error", "detail", "message")
MAX_REASON_CHARACTERS = 200
_MAX_REASON_READ = 50 * MAX_REASON_CHARACTERS
_SECONDS = re.compile(r"[0-9]{1,6}")
_IDENTITY = "identity"
_BUSY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


class RemoteError(Exception):
    """A server refuses a request, or its answer cannot be used. The message may be shown."""


class RemoteUnavailableError(RemoteError):
    """A server does not answer, is broken or busy. The same request may succeed later."""


class MisplacedServerError(RemoteError):
    """The address of a server redirects, or is in a network that it may not be in."""


class BusyServerError(RemoteUnavailableError):
    """The server asks for a pause before the next request."""

    def __init__(self, message: str, wait: float) -> None:
        """Store the pause.

        Args:
            message: May be shown.
            wait: Seconds that the server asks for.
        """
        super().__init__(message)
        self.wait = wait


async def fetch(
    http: httpx.AsyncClient,
    request: httpx.Request,
    server: str,
    *,
    max_bytes: int = MAX_ANSWER_BYTES,
    max_values: int = MAX_VALUES,
) -> tuple[int, Any]:
    """Send a request and return the answer's status, below 500, and its JSON value.

    Raises:
        RemoteError: As of `exchange`, or the server answers with nonsense.
        RemoteUnavailableError: As of `exchange`.
    """
    status, body = await exchange(http, request, server, max_bytes=max_bytes)
    if values_in(body, max_values) > max_values:
        raise RemoteError(f"The answer of {server} has more than {max_values:,} values.")
    try:
        return status, json.loads(body)
    except (ValueError, RecursionError):
        if status >= HTTPStatus.BAD_REQUEST:
            raise RemoteError(f"{server} answered {status}.") from None
        raise RemoteError(f"The answer of {server} cannot be read: it is no JSON.") from None


async def exchange(
    http: httpx.AsyncClient,
    request: httpx.Request,
    server: str,
    *,
    max_bytes: int = MAX_ANSWER_BYTES,
) -> tuple[int, bytes]:
    """Send a request and return the answer's status, below 500, and its body.

    Args:
        http: Must not follow redirects: what a request carries is for one address.
        request: The request. No message repeats it, as it may hold a secret.
        server: The server, as messages name it, for example `Moodle`.
        max_bytes: The most bytes to take.

    Raises:
        MisplacedServerError: The server redirects, or may not be reached.
        RemoteError: It answers with too much, or compressed.
        BusyServerError: It is busy and says for how long.
        RemoteUnavailableError: It does not answer, is broken or busy.
    """
    request_uncompressed(request)
    try:
        response = await http.send(request, stream=True)
        try:
            _refuse_failure(response, server)
            refuse_compressed(response, server)
            return response.status_code, await _limited(response, server, max_bytes)
        finally:
            await response.aclose()
    except ForbiddenAddressError as error:
        raise MisplacedServerError(
            f"{server} is in a private network, which the operator can allow with {SETTING}."
        ) from error
    except httpx.TimeoutException as error:
        raise RemoteUnavailableError(f"{server} did not answer in time.") from error
    except httpx.HTTPError as error:
        raise RemoteUnavailableError(f"{server} does not answer.") from error


def request_uncompressed(request: httpx.Request) -> None:
    """Ask for an answer that is not compressed: a few kilobytes can unfold to gigabytes."""
    request.headers["accept-encoding"] = _IDENTITY


def refuse_compressed(response: httpx.Response, server: str) -> None:
    """Refuse an answer that is compressed, before anything of it is read.

    Raises:
        RemoteError: It is.
    """
    if response.headers.get("content-encoding", "").casefold() not in {"", _IDENTITY}:
        raise RemoteError(f"{server} compresses its answers against the request.")


def reason_in(body: object, secret: str) -> str:
    """Return the sentence in the JSON value of an error, wherever a server puts it.

    Args:
        body: The value.
        secret: The secret of the request, in case the server repeats it; may be empty.
    """
    while isinstance(body, Mapping):
        body = next((body[name] for name in _REASONS if name in body), "")
    reason = " ".join(body[:_MAX_REASON_READ].split()) if isinstance(body, str) else ""
    reason = reason.replace(secret, REDACTED) if secret else reason
    return redact_personal(reason)[:MAX_REASON_CHARACTERS].rstrip(".")


async def _limited(response: httpx.Response, server: str, max_bytes: int) -> bytes:
    pieces = bytearray()
    async for piece in response.aiter_raw():
        pieces += piece
        if len(pieces) > max_bytes:
            raise RemoteError(f"{server} answered with more than {max_bytes // 1024**2} MiB.")
    return bytes(pieces)


def _refuse_failure(response: httpx.Response, server: str) -> None:
    status, wait = response.status_code, response.headers.get("Retry-After", "")
    if status in _BUSY and _SECONDS.fullmatch(wait):
        raise BusyServerError(f"{server} answered {status}: ask again in {wait} s.", float(wait))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
        raise RemoteUnavailableError(f"{server} answered {status}.")
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise MisplacedServerError(f"{server} redirects ({status}). Configure its final address.")
