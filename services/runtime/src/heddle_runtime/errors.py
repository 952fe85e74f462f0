"""The exceptions services raise, and their form on the wire.

Inside a service a failure is one of these exceptions. `heddle_runtime.server_interceptor` converts
it into a `google.rpc.Status`, and `from_rpc` converts that into the same exception in the client,
so that no other code handles gRPC codes. The reasons are those of
`heddle.error.v1.ErrorReason`, without its prefix.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

DOMAIN = "heddle"
DETAILS_KEY = "grpc-status-details-bin"
_LONGEST_MESSAGE = 3_000  # bytes; it is sent twice, once with every foreign letter escaped


@dataclass(frozen=True, slots=True)
class Violation:
    """One wrong field of a request: its path, and what is wrong with it."""

    field: str
    description: str


class HeddleError(Exception):
    """A failure that the caller is told about. The message must be safe to show."""

    code: ClassVar[grpc.StatusCode] = grpc.StatusCode.INTERNAL
    reason: ClassVar[str] = "INTERNAL"

    def __init__(
        self,
        message: str,
        violations: Iterable[Violation] = (),
        *,
        retry_after: float | None = None,
        **metadata: str,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.violations = tuple(violations)
        self.retry_after = retry_after
        """Seconds after which trying again may help, if that is known."""
        self.metadata = metadata
        """Names the things concerned, for programs."""


class InvalidRequestError(HeddleError):
    """The request is wrong; sending it again cannot help."""

    code = grpc.StatusCode.INVALID_ARGUMENT
    reason = "INVALID_REQUEST"


class NotFoundError(HeddleError):
    """The named thing does not exist, or the caller may not know that it does."""

    code = grpc.StatusCode.NOT_FOUND
    reason = "NOT_FOUND"


class AlreadyExistsError(HeddleError):
    """A thing of that name exists."""

    code = grpc.StatusCode.ALREADY_EXISTS
    reason = "ALREADY_EXISTS"


class ConflictError(HeddleError):
    """The thing changed since the caller read it."""

    code = grpc.StatusCode.ABORTED
    reason = "CONFLICT"


class UnauthenticatedError(HeddleError):
    """The call carries no valid identity."""

    code = grpc.StatusCode.UNAUTHENTICATED
    reason = "UNAUTHENTICATED"


class PermissionDeniedError(HeddleError):
    """The caller may not do this."""

    code = grpc.StatusCode.PERMISSION_DENIED
    reason = "PERMISSION_DENIED"


class UnavailableError(HeddleError):
    """Something behind the service is down; trying again later may help."""

    code = grpc.StatusCode.UNAVAILABLE
    reason = "UPSTREAM_UNAVAILABLE"


class ResourceExhaustedError(HeddleError):
    """Too many calls at once, or a quota is used up."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    reason = "RESOURCE_EXHAUSTED"


class DeadlineError(HeddleError):
    """The time ran out."""

    code = grpc.StatusCode.DEADLINE_EXCEEDED
    reason = "DEADLINE_EXCEEDED"


class MalformedAssistantError(HeddleError):
    """What is kept of an assistant cannot be understood."""

    code = grpc.StatusCode.FAILED_PRECONDITION
    reason = "MALFORMED_ASSISTANT"


class NewerFormatError(HeddleError):
    """What is kept of an assistant is of a newer format than the service knows."""

    code = grpc.StatusCode.FAILED_PRECONDITION
    reason = "NEWER_FORMAT"


class NotSetUpError(HeddleError):
    """The operator has not set up what the call needs."""

    code = grpc.StatusCode.FAILED_PRECONDITION
    reason = "NOT_SET_UP"


class ProviderRefusedError(HeddleError):
    """A model provider refused the request; the metadata carries its `http_status`."""

    code = grpc.StatusCode.FAILED_PRECONDITION
    reason = "PROVIDER_REFUSED"


class ProviderGarbledError(HeddleError):
    """A model provider broke its protocol."""

    code = grpc.StatusCode.DATA_LOSS
    reason = "PROVIDER_GARBLED"


class ToolFailedError(HeddleError):
    """A tool gave up for a reason of its own."""

    code = grpc.StatusCode.UNKNOWN
    reason = "TOOL_FAILED"


_BY_REASON: dict[str, type[HeddleError]] = {
    error.reason: error for error in HeddleError.__subclasses__()
}
_BY_CODE: dict[grpc.StatusCode, type[HeddleError]] = {
    error.code: error for error in HeddleError.__subclasses__()
}
_CODES = {code.value[0]: code for code in grpc.StatusCode}
# What grpc itself says names addresses of our own network; callers learn the code only.
_BARE = {
    grpc.StatusCode.UNAVAILABLE: "A service behind this one cannot be reached. Try again later.",
    grpc.StatusCode.DEADLINE_EXCEEDED: "The time of the call ran out.",
    grpc.StatusCode.CANCELLED: "The call was cancelled.",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "The service is busy, or the message is too large.",
    grpc.StatusCode.UNIMPLEMENTED: "The service does not offer this call.",
}


def to_status(error: HeddleError) -> status_pb2.Status:
    """Return the form of `error` on the wire."""
    status = status_pb2.Status(code=error.code.value[0], message=shortened(error.message))
    for detail in _details(error):
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return status


def shortened(message: str) -> str:
    """Return a message that fits into gRPC's trailers, which hold 16 KiB in all."""
    return message.encode()[:_LONGEST_MESSAGE].decode("utf-8", "ignore")


def from_status(status: status_pb2.Status) -> HeddleError:
    """Return the exception that `status` stands for."""
    info = error_details_pb2.ErrorInfo()
    bad_request = error_details_pb2.BadRequest()
    retry = error_details_pb2.RetryInfo()
    for detail in status.details:
        for known in (info, bad_request, retry):
            if detail.Is(known.DESCRIPTOR):
                detail.Unpack(known)
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    kind = _BY_REASON.get(info.reason) or _BY_CODE.get(code, HeddleError)
    error = kind(
        status.message,
        [Violation(v.field, v.description) for v in bad_request.field_violations],
        retry_after=retry.retry_delay.ToTimedelta().total_seconds()
        if retry.HasField("retry_delay")
        else None,
    )
    error.metadata = dict(info.metadata)
    return error


def from_rpc(error: grpc.aio.AioRpcError) -> HeddleError:
    """Return the exception that a failed call stands for."""
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            try:
                return from_status(status_pb2.Status.FromString(value))
            except DecodeError:  # a proxy's own trailer: the code still tells
                break
    code = error.code()
    return _BY_CODE.get(code, HeddleError)(
        _BARE.get(code, "A service behind this one failed."), grpc_code=code.name
    )


def to_rpc(error: HeddleError) -> grpc.aio.AioRpcError:
    """Return what a call that failed with `error` raises: the opposite of `from_rpc`."""
    return failed_rpc(to_status(error))


def failed_rpc(status: status_pb2.Status) -> grpc.aio.AioRpcError:
    """Return what a call that ended in `status` raises."""
    trailing = grpc.aio.Metadata((DETAILS_KEY, status.SerializeToString()))
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, status.message)


def _details(error: HeddleError) -> Iterable[Message]:
    yield error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata)
    if error.violations:
        yield error_details_pb2.BadRequest(
            field_violations=[
                error_details_pb2.BadRequest.FieldViolation(
                    field=violation.field, description=violation.description
                )
                for violation in error.violations
            ]
        )
    if error.retry_after is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromTimedelta(timedelta(seconds=error.retry_after))
        yield retry
