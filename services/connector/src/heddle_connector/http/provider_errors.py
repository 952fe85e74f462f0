"""What a provider's refusal means: from HTTP statuses and error objects to typed errors."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec
from heddle_runtime.errors import (
    HeddleError,
    ProviderRefusedError,
    ResourceExhaustedError,
    UnavailableError,
)
from heddle_runtime.redaction import REDACTED, redact

BAD_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding text that is not the expected JSON raises."""
_LONGEST_MESSAGE = 2_000
_LONGEST_NAME = 100
_LONGEST_WAIT = 24 * 3600.0
_SHORTEST_SECRET = 8  # longer than "Bearer"
_TOO_MANY = 429
_FAILURES = 500
_TEMPORARY = (408, 425)  # timed out, too early
_STATUS_OF = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "server_error": 500,
    "internal_server_error": 500,
    "overloaded_error": 529,
    "service_unavailable": 503,
}


def refusal(status: int, headers: Mapping[str, str], body: bytes, secret: str = "") -> HeddleError:
    """Return the error that an answer with an HTTP error status stands for.

    Args:
        status: The HTTP status.
        headers: The answer's headers, names in any case.
        body: The answer's body, or the beginning of it.
        secret: The request's authorization, which the message must not repeat.
    """
    try:
        given = msgspec.json.decode(body)
    except BAD_JSON:  # an HTML page of a proxy, or cut off: the status still tells
        given = None
    after = retry_after(headers)
    return _typed(status, given, _told_delay(given) if after is None else after, secret)


def stated_error(error: object, secret: str = "") -> HeddleError:
    """Return what an error object stands for that came within an answer of status 200."""
    found = error if isinstance(error, dict) else {}
    status = next(
        (
            status
            for key in ("status", "code", "type")
            if (status := _status(found.get(key))) is not None
        ),
        200,
    )
    return _typed(status, {"error": error}, None, secret)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which the provider wants to be asked again, if it told."""
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return _bounded(milliseconds / 1000)
    given = headers.get("retry-after", "")
    if (seconds := _number(given)) is not None:
        return _bounded(seconds)
    try:
        date = parsedate_to_datetime(given)
    except (ValueError, TypeError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return _bounded((date - datetime.now(UTC)).total_seconds())


def _typed(status: int, given: object, after: float | None, secret: str) -> HeddleError:
    error = _error_object(given)
    text = _message(error)
    metadata = {"http_status": str(status)}
    for key in ("type", "code", "param"):
        if isinstance(value := error.get(key), str | int) and value:
            metadata[f"provider_{key}"] = _clean(str(value), secret, _LONGEST_NAME)
    text = _clean(text, secret, _LONGEST_MESSAGE)
    if status == _TOO_MANY:
        return ResourceExhaustedError(
            text or "The provider refuses more requests for now.", (), retry_after=after, **metadata
        )
    if status >= _FAILURES or status in _TEMPORARY:
        told = f" and says: {text}" if text else "."
        return UnavailableError(
            f"The provider failed with HTTP {status}{told}", (), retry_after=after, **metadata
        )
    return ProviderRefusedError(
        text or f"The provider refused the request with HTTP {status}.",
        (),
        retry_after=after,
        **metadata,
    )


def _error_object(given: object) -> Mapping[str, Any]:
    """Return the object with the members `message`, `type`, `code`, whatever it is wrapped in."""
    if isinstance(given, list) and given:  # Google's form: the object in a list
        given = given[0]
    if not isinstance(given, dict):
        return {}
    inner = given.get("error", given)
    if isinstance(inner, str):  # Ollama's form
        return {"message": inner}
    return inner if isinstance(inner, dict) else {}


def _told_delay(given: object) -> float | None:
    """Return the seconds that Google tells in the body and not in a header, as in "34.5s"."""
    details = _error_object(given).get("details")
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


def _clean(text: str, secret: str, longest: int) -> str:
    for word in secret.split():
        if len(word) >= _SHORTEST_SECRET:
            text = text.replace(word, REDACTED)
    # Bytes, not characters: the text travels in gRPC's trailers, which hold 16 KiB in all, and is
    # escaped there to three times its size if it is not ASCII.
    return redact(text).encode()[:longest].decode(errors="ignore")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _bounded(seconds: float) -> float | None:
    return max(0.0, seconds) if seconds <= _LONGEST_WAIT else None
