"""Translates a provider's HTTP statuses and error objects to typed errors."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec
from heddle_runtime.contract.unicode_text import valid_text
from heddle_runtime.errors import (
    HeddleError,
    ProviderRefusedError,
    ResourceExhaustedError,
    UnavailableError,
)
from heddle_runtime.redaction import redact_personal

from heddle_connector.http.tolerant_json import any_json

_MAX_MESSAGE_BYTES = 2_000
_MAX_NAME_BYTES = 100
_MAX_RETRY_AFTER_SECONDS = 24 * 3600.0
_TOO_MANY_REQUESTS = 429
_FIRST_SERVER_ERROR = 500
_TEMPORARY = (408, 425)  # request timeout, too early
_STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "server_error": 500,
    "internal_server_error": 500,
    "api_error": 500,
    "overloaded_error": 529,
    "service_unavailable": 503,
    "timeout_error": 504,
}


def provider_error(status: int, headers: Mapping[str, str], body: bytes) -> HeddleError:
    """Return the error that a response with an HTTP error status means.

    Args:
        status: The HTTP status.
        headers: The response headers, with names in lower case.
        body: The response body, or the beginning of it.
    """
    try:
        content = any_json(body)
    except msgspec.DecodeError:  # a page of a proxy, or a body that is cut off
        content = None
    delay = retry_after(headers)
    return _typed(status, content, _delay_in_body(content) if delay is None else delay)


def error_in_body(error: object) -> HeddleError:
    """Return the error that an error object within a response of status 200 means."""
    fields = error if isinstance(error, dict) else {}
    status = next(
        (
            status
            for key in ("status", "code", "type")
            if (status := _status(fields.get(key))) is not None
        ),
        200,
    )
    return _typed(status, {"error": error}, None)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which the provider accepts requests again, if it states them."""
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return _bounded(milliseconds / 1000)
    value = headers.get("retry-after", "")
    if (seconds := _number(value)) is not None:
        return _bounded(seconds)
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return _bounded((date - datetime.now(UTC)).total_seconds())


def _typed(status: int, content: object, delay: float | None) -> HeddleError:
    error = _error_object(content)
    text = _message(error)
    metadata = {"http_status": str(status)}
    for key in ("type", "code", "param"):
        if isinstance(value := error.get(key), str | int) and value:
            metadata[f"provider_{key}"] = _clean(str(value), _MAX_NAME_BYTES)
    text = _clean(text, _MAX_MESSAGE_BYTES)
    if status == _TOO_MANY_REQUESTS:
        return ResourceExhaustedError(
            text or "The provider refuses more requests for now.", (), retry_after=delay, **metadata
        )
    if status >= _FIRST_SERVER_ERROR or status in _TEMPORARY:
        detail = f" and says: {text}" if text else "."
        return UnavailableError(
            f"The provider failed with HTTP {status}{detail}", (), retry_after=delay, **metadata
        )
    return ProviderRefusedError(
        text or f"The provider refused the request with HTTP {status}.",
        (),
        retry_after=delay,
        **metadata,
    )


def _error_object(content: object) -> Mapping[str, Any]:
    """Return the object with the members `message`, `type` and `code`, without its wrapping."""
    if isinstance(content, list) and content:  # Google wraps the object in a list
        content = content[0]
    if not isinstance(content, dict):
        return {}
    inner = content.get("error", content)
    if isinstance(inner, str):  # Ollama sends the message alone
        return {"message": inner}
    return inner if isinstance(inner, dict) else {}


def _delay_in_body(content: object) -> float | None:
    """Return the retry delay in seconds that Google sends in the body, for example "34.5s"."""
    details = _error_object(content).get("details")
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            seconds = _number(delay[:-1])
            return None if seconds is None else _bounded(seconds)
    return None


def _message(error: Mapping[str, Any]) -> str:
    for key in ("message", "detail", "msg"):
        if isinstance(value := error.get(key), str) and value:
            return value
    return ""


def _status(value: object) -> int | None:
    if isinstance(value, str):
        if value in _STATUS_OF:
            return _STATUS_OF[value]
        value = int(value) if value.isascii() and value.isdecimal() and len(value) == 3 else None  # noqa: PLR2004 - a status has three digits
    return value if isinstance(value, int) and 400 <= value < 600 else None  # noqa: PLR2004 - HTTP's errors


def _clean(text: str, max_bytes: int) -> str:
    # Redacted before the cut, which could leave the half of a secret. Providers also name the owner
    # of an account by an e-mail address.
    text = redact_personal(valid_text(text))
    # The limit counts bytes: the text travels in gRPC's trailers, which hold 16 KiB in total and
    # escape non-ASCII text to three times its size.
    return text.encode()[:max_bytes].decode(errors="ignore")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _bounded(seconds: float) -> float | None:
    return max(0.0, seconds) if seconds <= _MAX_RETRY_AFTER_SECONDS else None
