"""The exceptions services raise, and their form on the wire.

Inside a service a failure is one of these exceptions. `heddle_runtime.rpc.interceptor` converts
it into a `google.rpc.Status`, and `from_rpc` converts that into the same exception in the client,
so that no other code handles gRPC codes. The reasons are those of
`heddle.error.v1.ErrorReason`, without its prefix.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode

from heddle_runtime.redaction import redact

DOMAIN = "heddle"
DETAILS_KEY = "grpc-status-details-bin"
_MAX_MESSAGE_BYTES = 3_000  # sent twice, once with every non-ASCII character escaped
_MAX_VIOLATIONS_BYTES = 4_000  # sent as base64
QUOTA_SPENT = "The assistant has spent what its quota allows. An administrator can raise the limit."


@dataclass(frozen=True, slots=True)
class Violation:
    """One wrong field of a request: its path, and what is wrong with it."""

    field: str
    description: str


class HeddleError(Exception):
    """A failure that is reported to the caller. Secrets in its texts are redacted.

    Users read the message: it says what they can do, without addresses and names of settings.
    Those belong into the diagnosis.
    """

    code: ClassVar[StatusCode] = StatusCode.INTERNAL
    reason: ClassVar[str] = "INTERNAL"
    default_retry_after: ClassVar[float | None] = None
    """Seconds that callers are told to wait if the failure itself does not say."""

    def __init_subclass__(cls, *, code: StatusCode | None = None, reason: str = "") -> None:
        """Define a kind of failure; without a code, a special case of the base class.

        The reason is the name of the code by default.
        """
        if code is not None:
            cls.code, cls.reason = code, reason or code.name

    def __init__(
        self,
        message: str,
        violations: Iterable[Violation] = (),
        *,
        retry_after: float | None = None,
        diagnosis: str = "",
        **metadata: str,
    ) -> None:
        # Here, because every failure that reaches a person passes this place, in whatever process.
        message = redact(message)
        super().__init__(message)
        self.message = message
        self.diagnosis = redact(diagnosis)
        """The cause and its remedy for operators. It is logged and never sent."""
        self.violations = tuple(
            Violation(redact(each.field), redact(each.description)) for each in violations
        )
        self.retry_after = retry_after
        """Seconds after which a retry may succeed, if known."""
        self.metadata = {name: redact(value) for name, value in metadata.items()}
        """Machine-readable details, such as names of the objects concerned."""

    @property
    def suggested_retry_after(self) -> float | None:
        """Seconds after which callers may retry, None if a retry does not help."""
        return self.default_retry_after if self.retry_after is None else self.retry_after


class InvalidRequestError(HeddleError, code=StatusCode.INVALID_ARGUMENT, reason="INVALID_REQUEST"):
    """The request is invalid; a retry fails as well."""


class NotFoundError(HeddleError, code=StatusCode.NOT_FOUND):
    """The object does not exist, or the caller may not see it."""


class AlreadyExistsError(HeddleError, code=StatusCode.ALREADY_EXISTS):
    """An object with this name exists."""


class ConflictError(HeddleError, code=StatusCode.ABORTED, reason="CONFLICT"):
    """The object changed since the caller read it."""


class UnauthenticatedError(HeddleError, code=StatusCode.UNAUTHENTICATED):
    """The call carries no valid identity."""


class PermissionDeniedError(HeddleError, code=StatusCode.PERMISSION_DENIED):
    """The caller may not do this."""


# Before the next class: `_BY_CODE` holds the last one of a code.
class StorageError(HeddleError, code=StatusCode.UNAVAILABLE, reason="STORAGE_UNAVAILABLE"):
    """The service cannot store data until an operator acts. Nothing was acknowledged."""

    default_retry_after = 30.0


class UnavailableError(HeddleError, code=StatusCode.UNAVAILABLE, reason="UPSTREAM_UNAVAILABLE"):
    """A dependency of the service is unavailable; a later retry may succeed."""

    default_retry_after = 1.0


# Before the next class: `_BY_CODE` holds the last one of a code.
class QuotaExceededError(HeddleError, code=StatusCode.RESOURCE_EXHAUSTED, reason="QUOTA_EXCEEDED"):
    """An assistant has spent what its quota allows. A retry fails until an administrator acts."""

    default_retry_after = 3600.0


class ResourceExhaustedError(HeddleError, code=StatusCode.RESOURCE_EXHAUSTED):
    """There are too many concurrent calls, or a limit is reached."""

    default_retry_after = 1.0


class DeadlineError(HeddleError, code=StatusCode.DEADLINE_EXCEEDED):
    """The deadline has passed."""


class UnimplementedError(HeddleError, code=StatusCode.UNIMPLEMENTED):
    """The service does not offer the method."""


class MalformedAssistantError(
    HeddleError, code=StatusCode.FAILED_PRECONDITION, reason="MALFORMED_ASSISTANT"
):
    """The stored form of an assistant is invalid."""


class NewerFormatError(HeddleError, code=StatusCode.FAILED_PRECONDITION, reason="NEWER_FORMAT"):
    """The stored form of an assistant has a newer format than the service supports."""


class NoModelError(HeddleError, code=StatusCode.FAILED_PRECONDITION, reason="NO_MODEL"):
    """No model is connected that could answer for an organisation's default model."""


class NotSetUpError(HeddleError, code=StatusCode.FAILED_PRECONDITION, reason="NOT_SET_UP"):
    """The operator has not configured what the call needs."""


class ToolFailedError(HeddleError, code=StatusCode.FAILED_PRECONDITION, reason="TOOL_FAILED"):
    """A tool failed; a retry fails as well until its cause is gone."""


class ProviderRefusedError(
    HeddleError, code=StatusCode.FAILED_PRECONDITION, reason="PROVIDER_REFUSED"
):
    """A model provider refused the request; the metadata carries its `http_status`."""


class ProviderGarbledError(HeddleError, code=StatusCode.DATA_LOSS, reason="PROVIDER_GARBLED"):
    """A model provider violated its protocol."""


_BY_REASON = {error.reason: error for error in HeddleError.__subclasses__()}
_BY_CODE = {error.code: error for error in HeddleError.__subclasses__()}
_CODES = {code.value[0]: code for code in StatusCode}
# The messages of gRPC contain internal addresses, so callers receive only the code.
_MESSAGES = {
    StatusCode.UNAVAILABLE: "Another service cannot be reached. Try again later.",
    StatusCode.DEADLINE_EXCEEDED: "The deadline of the call has passed.",
    StatusCode.CANCELLED: "The call was cancelled.",
    StatusCode.RESOURCE_EXHAUSTED: "The service is busy, or the message is too large.",
    StatusCode.UNIMPLEMENTED: "The service does not offer this call.",
}


def to_status(error: HeddleError) -> status_pb2.Status:
    """Return `error` as a `google.rpc.Status`."""
    status = status_pb2.Status(code=error.code.value[0], message=shortened(error.message))
    for detail in _details(error):
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return status


def shortened(message: str) -> str:
    """Return a message that fits into gRPC's trailers, which are limited to 16 KiB."""
    return message.encode()[:_MAX_MESSAGE_BYTES].decode("utf-8", "ignore")


def from_status(status: status_pb2.Status) -> HeddleError:
    """Return the exception for `status`."""
    info = error_details_pb2.ErrorInfo()
    bad_request = error_details_pb2.BadRequest()
    retry = error_details_pb2.RetryInfo()
    for detail in status.details:
        for known in (info, bad_request, retry):
            if detail.Is(known.DESCRIPTOR):
                detail.Unpack(known)
    code = _CODES.get(status.code, StatusCode.UNKNOWN)
    kind = _BY_REASON.get(info.reason) or _BY_CODE.get(code, HeddleError)
    error = kind(
        status.message,
        [Violation(v.field, v.description) for v in bad_request.field_violations],
        retry_after=retry.retry_delay.ToTimedelta().total_seconds()
        if retry.HasField("retry_delay")
        else None,
    )
    error.metadata |= info.metadata
    return error


def from_rpc(error: grpc.aio.AioRpcError) -> HeddleError:
    """Return the exception for a failed call."""
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            try:
                return from_status(status_pb2.Status.FromString(value))
            except DecodeError:  # the trailer of a proxy; the status code remains
                break
    code = error.code()
    return _BY_CODE.get(code, HeddleError)(
        _MESSAGES.get(code, "Another service failed."), grpc_code=code.name
    )


def reason_of(error: Exception) -> str:
    """Return the reason of a failure, also of a call to another service."""
    match error:
        case HeddleError():
            return error.reason
        case grpc.aio.AioRpcError():
            return from_rpc(error).reason
        case TimeoutError():
            return DeadlineError.reason
        case _:
            return HeddleError.reason


def error_type(error: BaseException | None) -> str:
    """Return a failure as metrics and spans name it: by its reason, or `CANCELLED`.

    Args:
        error: The failure; None without one, for which the name is empty.
    """
    if error is None:
        return ""
    if not isinstance(error, Exception):
        return "CANCELLED"  # of the task, or of a generator whose reader has left
    return reason_of(error)


def to_rpc(error: HeddleError) -> grpc.aio.AioRpcError:
    """Return the exception that a call which failed with `error` raises, inverse to `from_rpc`."""
    return failed_rpc(to_status(error))


def unimplemented(path: str) -> UnimplementedError:
    """Return the error of a call to a method that the service does not offer."""
    return UnimplementedError(f"The service does not offer {path[:200]!r}.")


def failed_rpc(status: status_pb2.Status) -> grpc.aio.AioRpcError:
    """Return the exception that a call which ended with `status` raises."""
    trailing = grpc.aio.Metadata((DETAILS_KEY, status.SerializeToString()))
    code = _CODES.get(status.code, StatusCode.UNKNOWN)
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, status.message)


def _field_violations(
    violations: Sequence[Violation],
) -> list[error_details_pb2.BadRequest.FieldViolation]:
    """Return violations as messages, as many as fit into gRPC's trailers."""
    messages: list[error_details_pb2.BadRequest.FieldViolation] = []
    size = 0
    for each in violations:
        message = error_details_pb2.BadRequest.FieldViolation(
            field=each.field, description=each.description
        )
        size += message.ByteSize()
        if size > _MAX_VIOLATIONS_BYTES:
            message.field = ""
            message.description = f"{len(violations) - len(messages)} further fields are invalid"
            return [*messages, message]
        messages.append(message)
    return messages


def _details(error: HeddleError) -> Iterable[Message]:
    yield error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata)
    if error.violations:
        yield error_details_pb2.BadRequest(field_violations=_field_violations(error.violations))
    if (seconds := error.suggested_retry_after) is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromTimedelta(timedelta(seconds=seconds))
        yield retry
