"""Error responses, in the form that OpenAI's clients understand."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

import msgspec
from heddle_conversion.assistant_json import parse_path, path_text
from heddle_runtime.errors import HeddleError, InvalidRequestError, Violation
from heddle_runtime.errors.guide import anchor
from heddle_runtime.telemetry import log_fields

from heddle_gateway.http.headers import JSON
from heddle_gateway.http.raw import ANTHROPIC_PATH, RawResponse

INVALID = "invalid_request_error"
SERVER = "server_error"
ERRORS_PATH = "/errors"
"""The page that says what callers can do about each reason of a failure."""
_ANTHROPIC_TYPES: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.NOT_FOUND: "not_found_error",
    HTTPStatus.CONFLICT: "conflict_error",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "request_too_large",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
    HTTPStatus.SERVICE_UNAVAILABLE: "overloaded_error",
    HTTPStatus.GATEWAY_TIMEOUT: "timeout_error",
}
UNEXPECTED = "The gateway failed. Try again, or give the request id to the operator."
# A deadline will be missed again, and a conflict remains.
_PERMANENT = {HTTPStatus.CONFLICT, HTTPStatus.GATEWAY_TIMEOUT}
# Each of these says when to retry, also a provider's that said nothing.
_REFUSALS = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_REFUSAL_RETRY_SECONDS = 1.0
_CREDENTIALS_REFUSED = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED,
}
# reason -> status, type, code
_KINDS: dict[str, tuple[int, str, str | None]] = {
    "INVALID_REQUEST": (400, INVALID, None),
    "UNAUTHENTICATED": (401, INVALID, "invalid_api_key"),
    "PERMISSION_DENIED": (403, INVALID, "permission_denied"),
    "NOT_FOUND": (404, INVALID, "not_found"),
    "ALREADY_EXISTS": (409, INVALID, "already_exists"),
    "CONFLICT": (409, INVALID, "conflict"),
    "MALFORMED_ASSISTANT": (422, INVALID, "malformed_assistant"),
    "NEWER_FORMAT": (422, INVALID, "newer_format"),
    "NOT_SET_UP": (501, SERVER, "not_set_up"),
    "NO_MODEL": (501, SERVER, "no_model"),
    "UNIMPLEMENTED": (501, SERVER, "not_implemented"),
    "RESOURCE_EXHAUSTED": (429, "rate_limit_exceeded", "rate_limit_exceeded"),
    "QUOTA_EXCEEDED": (429, "quota_exceeded", "assistant_quota_exceeded"),
    "PROVIDER_GARBLED": (502, SERVER, "provider_garbled"),
    "TOOL_FAILED": (502, SERVER, "tool_failed"),
    "UPSTREAM_UNAVAILABLE": (503, SERVER, "service_unavailable"),
    "STORAGE_UNAVAILABLE": (503, SERVER, "storage_unavailable"),
    "DEADLINE_EXCEEDED": (504, SERVER, "deadline_exceeded"),
}
# Reasons of failures that the gateway notices itself; of other statuses the request is the reason.
_REASONS: dict[int, str] = {
    HTTPStatus.NOT_FOUND: "NOT_FOUND",
    HTTPStatus.INTERNAL_SERVER_ERROR: "INTERNAL",
    HTTPStatus.BAD_GATEWAY: "UPSTREAM_UNAVAILABLE",
    HTTPStatus.SERVICE_UNAVAILABLE: "UPSTREAM_UNAVAILABLE",
    HTTPStatus.GATEWAY_TIMEOUT: "DEADLINE_EXCEEDED",
}
# What the account service found to be wrong -> code
_SUBJECTS = {"session": "session_ended", "sign-in": "sign_in_failed"}
# Contract fields and their names in requests.
_PARAMS = {
    "assistant_reference": "model",
    "candidates": "n",
    "functions": "tools",
    "metadata_json": "metadata",
    "content_json": "content",
    "expire_time": "expires_at",
    "first_day": "from",
    "last_day": "to",
    "rag_top_k": "RAG_Top_k",
    "rag_collections": "RAG_collections",
    "settings_json": "settings",
}
_FIELD_PREFIXES = ("key.", "options.", "organization.", "prompt.", "record.", "rubric.")
_ASSISTANT = "assistant"
# Codes of refusals that last until an administrator raises a limit.
_USED_UP = {"assistant_quota_exceeded", "insufficient_quota"}


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """An error as the client receives it."""

    status: int
    message: str
    type: str = INVALID
    param: str | None = None
    code: str | None = None
    retry_after: float | None = None
    """Seconds after which another attempt may succeed, if known."""
    retry: bool = True
    """Whether the client may retry automatically."""
    close: bool = False
    """Whether the connection cannot be used again."""
    violations: tuple[Violation, ...] = ()
    """All invalid members of the request."""
    conflict: Mapping[str, Any] | None = None
    """The version that the object has now, if it changed since the client read it."""
    reason: str = ""
    """Why, as in the contract; by default what the status says."""
    envelope: Mapping[str, str] = field(default_factory=dict)
    """Members beside the error, in the form of another protocol than OpenAI's."""

    @property
    def documentation_url(self) -> str:
        """The section about the reason, relative to the address of the gateway."""
        reason = self.reason or _REASONS.get(self.status, "INVALID_REQUEST")
        return f"{ERRORS_PATH}#{anchor(reason)}"

    def with_request_id(self, request_id: str) -> "ErrorResponse":
        """Return the error with the request id in its message, for users of chat windows.

        Errors that the client can correct, and limits, stay as they are.
        """
        if self.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return self
        return replace(self, message=f"{self.message} (request {request_id})")

    def for_path(self, path: str, request_id: str) -> "ErrorResponse":
        """Return the error in the form of the protocol that a path belongs to."""
        if self.envelope or not path.startswith(ANTHROPIC_PATH):
            return self
        kind = _ANTHROPIC_TYPES.get(
            self.status, "api_error" if self.status >= HTTPStatus.INTERNAL_SERVER_ERROR else INVALID
        )
        return replace(self, type=kind, envelope={"type": "error", "request_id": request_id})

    def json(self, *, detail: bool = False) -> bytes:
        """Return OpenAI's error object, with all four keys and the address of its documentation.

        `detail` repeats the message where some clients read it.
        """
        members = ("message", "type", "param", "code", "documentation_url")
        error = {name: getattr(self, name) for name in members}
        if self.violations:
            error["violations"] = faults(self.violations)
        if self.conflict:
            error["conflict"] = self.conflict
        body: dict[str, Any] = {**self.envelope, "error": error}
        if detail:
            body["detail"] = self.message
        return msgspec.json.encode(body)

    @property
    def retry_seconds(self) -> int | None:
        """The value of `Retry-After`, which every refusal has."""
        seconds = self.retry_after
        if seconds is None and self.status in _REFUSALS:
            seconds = _REFUSAL_RETRY_SECONDS
        return None if seconds is None else math.ceil(seconds)

    def response(self, *, detail: bool = False) -> RawResponse:
        """Return the error as a whole response."""
        headers = list(JSON)
        if self.retry_seconds is not None:
            headers.append((b"retry-after", str(self.retry_seconds).encode()))
        if not self.retry:
            headers.append((b"x-should-retry", b"false"))
        if self.conflict:
            headers.append((b"etag", f'"{self.conflict["etag"]}"'.encode()))
        if self.close:
            headers.append((b"connection", b"close"))
        return RawResponse(self.status, self.json(detail=detail), tuple(headers))


class RejectedRequestError(Exception):
    """A request that the gateway rejects itself, for reasons of HTTP."""

    def __init__(self, error: ErrorResponse) -> None:
        super().__init__(error.message)
        self.error = error


def invalid(field: str, reason: str, kind: str = "") -> InvalidRequestError:
    """Return the error for an invalid field: `kind` is, for example, `The query parameter`."""
    name = f"{kind} {field!r}" if kind else field or "The body"
    return InvalidRequestError(f"{name} {reason}.", [Violation(field, reason)])


def rejected(param: str, message: str, code: str, status: int = 400) -> RejectedRequestError:
    """Return the error for a member that cannot be served."""
    return RejectedRequestError(ErrorResponse(status, message, param=param, code=code))


def add_failure(error: Exception) -> None:
    """Add a failure to the log line of the request."""
    match error:
        case HeddleError():
            log_fields.add_failure(error.reason, error.metadata)
        case RejectedRequestError():
            log_fields.add_failure((error.error.code or error.error.type).upper(), {})
        case _:
            log_fields.add_failure("INTERNAL", {})


def from_exception(error: Exception) -> ErrorResponse:
    """Return the error response of an exception."""
    match error:
        case HeddleError():
            return from_error(error)
        case RejectedRequestError():
            return error.error
        case _:
            return ErrorResponse(500, UNEXPECTED, SERVER, code="internal_error")


def from_error(error: HeddleError, *, model: bool = False) -> ErrorResponse:
    """Return the error response of `error`.

    `model` means that the requested object, which may not exist, is a model.
    """
    if error.reason == "PROVIDER_REFUSED":
        return _provider_error(error)
    if model and error.reason == "NOT_FOUND":
        return ErrorResponse(
            404, error.message, INVALID, "model", "model_not_found", reason=error.reason
        )
    metadata = error.metadata
    status, kind, default = _KINDS.get(error.reason, (500, SERVER, "internal_error"))
    if error.reason == "UNAUTHENTICATED":
        default = _SUBJECTS.get(metadata.get("subject", ""), default)
    code = metadata.get("provider_code", default)
    return ErrorResponse(
        status,
        _message(error),
        metadata.get("provider_type", kind),
        _param(error),
        code,
        error.suggested_retry_after,
        retry=code not in _USED_UP and status not in _PERMANENT,
        violations=error.violations,
        conflict=_conflict(metadata) if error.reason == "CONFLICT" else None,
        reason=error.reason,
    )


def request_field(field: str) -> str:
    """Return the member of a request for a field of the contract."""
    if field.startswith(f"{_ASSISTANT}."):
        return path_text(parse_path(field))
    for prefix in _FIELD_PREFIXES:
        field = field.removeprefix(prefix)
    name, dot, rest = field.partition(".")
    return f"{_PARAMS.get(name, name)}{dot}{rest}"


def faults(violations: Iterable[Violation]) -> list[dict[str, str]]:
    """Return violations, or messages with the same fields, as clients receive them."""
    return [
        {"field": request_field(each.field), "description": each.description} for each in violations
    ]


def _conflict(metadata: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the current version of the object of a conflict, None if the service says nothing."""
    if "etag" not in metadata:
        return None
    return {
        "etag": metadata["etag"],
        "author": metadata["author"] or None,
        "save_time": int(metadata["save_time"]),
    }


def _provider_error(error: HeddleError) -> ErrorResponse:
    metadata = error.metadata
    text = metadata.get("http_status", "")
    status = int(text) if text.isdecimal() and 400 <= int(text) <= 599 else 502  # noqa: PLR2004 - the statuses of failures
    if status in _CREDENTIALS_REFUSED:
        return ErrorResponse(
            502,
            f"The model provider refused Heddle's own credentials: {error.message}",
            SERVER,
            code="provider_credentials_refused",
            retry=False,
            reason=error.reason,
        )
    default = INVALID if status < HTTPStatus.INTERNAL_SERVER_ERROR else SERVER
    return ErrorResponse(
        status,
        error.message,
        metadata.get("provider_type", default),
        metadata.get("provider_param"),
        metadata.get("provider_code"),
        error.retry_after,
        reason=error.reason,
    )


def _param(error: HeddleError) -> str | None:
    if not error.violations:
        return error.metadata.get("provider_param")
    return request_field(error.violations[0].field) or None


def _message(error: HeddleError) -> str:
    """Return the message, with the invalid fields if the message does not name them."""
    violations = error.violations
    if not violations or (len(violations) == 1 and violations[0].field in error.message):
        return error.message
    fields = (f"{request_field(each.field)}: {each.description}" for each in violations)
    return f"{error.message} {'; '.join(fields)}"
