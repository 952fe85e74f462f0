"""What went wrong, in the form that OpenAI's clients understand."""

import math
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

import msgspec
from heddle_runtime.errors import HeddleError

from heddle_gateway.http.headers import JSON
from heddle_gateway.http.raw import RawResponse

INVALID = "invalid_request_error"
SERVER = "server_error"
# Two minutes that were not enough are so again; what is in the way of a request stays there.
_LASTING = {HTTPStatus.CONFLICT, HTTPStatus.GATEWAY_TIMEOUT}
_OURS_REFUSED = {
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
    "RESOURCE_EXHAUSTED": (429, "rate_limit_exceeded", "rate_limit_exceeded"),
    "PROVIDER_GARBLED": (502, SERVER, "provider_garbled"),
    "TOOL_FAILED": (502, SERVER, "tool_failed"),
    "UPSTREAM_UNAVAILABLE": (503, SERVER, "service_unavailable"),
    "DEADLINE_EXCEEDED": (504, SERVER, "deadline_exceeded"),
}
# Fields of our contracts under the names that the client gave them.
_PARAMS = {
    "assistant_reference": "model",
    "functions": "tools",
    "metadata_json": "metadata",
    "content_json": "content",
    "rag_top_k": "RAG_Top_k",
    "rag_collections": "RAG_collections",
}
_WRAPPINGS = ("options.", "record.", "assistant.", "rubric.")
# In the metadata of a RESOURCE_EXHAUSTED: what is used up is the budget of the assistant.
QUOTA = "quota"


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """A failure, ready to be told to the client."""

    status: int
    message: str
    type: str = INVALID
    param: str | None = None
    code: str | None = None
    retry_after: float | None = None
    """Seconds after which trying again may help, if that is known."""
    retry: bool = True
    """Whether the client may try again by itself, if it thinks so."""

    def json(self, *, detail: bool = False) -> bytes:
        """Return OpenAI's error object, all four keys set.

        `detail` repeats the message where LAMB's own clients look for it.
        """
        body: dict[str, Any] = {
            "error": {
                "message": self.message,
                "type": self.type,
                "param": self.param,
                "code": self.code,
            }
        }
        if detail:
            body["detail"] = self.message
        return msgspec.json.encode(body)

    def reply(self, *, detail: bool = False) -> RawResponse:
        """Return the problem as a whole answer, with `detail` as of `json`."""
        headers = list(JSON)
        if self.retry_after is not None:
            headers.append((b"retry-after", str(math.ceil(self.retry_after)).encode()))
        if not self.retry:
            headers.append((b"x-should-retry", b"false"))
        return RawResponse(self.status, self.json(detail=detail), tuple(headers))

    def final(self) -> "ErrorResponse":
        """Return the same problem for a run whose tools have done their work already."""
        return replace(self, retry=False)


class RejectedRequestError(Exception):
    """A request that is refused for what it is in HTTP, before any service sees it."""

    def __init__(self, problem: ErrorResponse, *, close: bool = False) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.close = close
        """Whether the connection is of no more use."""

    def reply(self, *, detail: bool = False) -> RawResponse:
        """Return the refusal as a whole answer, with `detail` as of `ErrorResponse.json`."""
        reply = self.problem.reply(detail=detail)
        if not self.close:
            return reply
        return msgspec.structs.replace(reply, headers=(*reply.headers, (b"connection", b"close")))


def of(error: HeddleError, *, model: bool = False) -> ErrorResponse:
    """Return what the client is told about `error`.

    `model` says that the thing that was asked for, and may not have been found, is a model.
    """
    if error.reason == "PROVIDER_REFUSED":
        return _refusal(error)
    if model and error.reason == "NOT_FOUND":
        return ErrorResponse(404, error.message, INVALID, "model", "model_not_found")
    known = error.metadata
    if error.reason == "RESOURCE_EXHAUSTED" and known.get(QUOTA) == "assistant":
        code = "assistant_quota_exceeded"
        return ErrorResponse(429, error.message, "quota_exceeded", None, code, retry=False)
    status, kind, default = _kind(error)
    return ErrorResponse(
        status,
        _sentence(error),
        known.get("provider_type", kind),
        _param(error),
        known.get("provider_code", default),
        error.retry_after,
        # A budget that is used up is so again.
        retry=known.get("provider_code") != "insufficient_quota" and status not in _LASTING,
    )


def _kind(error: HeddleError) -> tuple[int, str, str | None]:
    """Return the status, the type and the code for an error's reason."""
    if error.metadata.get("grpc_code") == "UNIMPLEMENTED":
        return 501, SERVER, "not_implemented"
    return _KINDS.get(error.reason, (500, SERVER, "internal_error"))


def _refusal(error: HeddleError) -> ErrorResponse:
    known = error.metadata
    given = known.get("http_status", "")
    status = int(given) if given.isdecimal() and 400 <= int(given) <= 599 else 502  # noqa: PLR2004 - the statuses of failures
    if status in _OURS_REFUSED:
        message = f"The model provider refused Heddle's own credentials: {error.message}"
        return ErrorResponse(
            502, message, SERVER, None, "provider_credentials_refused", retry=False
        )
    return ErrorResponse(
        status,
        error.message,
        known.get(
            "provider_type", INVALID if status < HTTPStatus.INTERNAL_SERVER_ERROR else SERVER
        ),
        known.get("provider_param"),
        known.get("provider_code"),
        error.retry_after,
    )


def _param(error: HeddleError) -> str | None:
    if not error.violations:
        return error.metadata.get("provider_param")
    field = error.violations[0].field
    for wrapping in _WRAPPINGS:
        field = field.removeprefix(wrapping)
    return _PARAMS.get(field, field) or None


def _sentence(error: HeddleError) -> str:
    """Return the message, with the first wrong field if the message does not name it."""
    if not error.violations or error.violations[0].field in error.message:
        return error.message
    first = error.violations[0]
    return f"{error.message} {first.field}: {first.description}"
