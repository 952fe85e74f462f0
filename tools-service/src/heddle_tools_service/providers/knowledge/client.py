"""Calls of the knowledge service."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import grpc
from google.protobuf.message import Message
from google.rpc import status_pb2
from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceAsyncStub
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    UnavailableError,
    from_rpc,
    from_status,
)
from heddle_runtime.identity.call_metadata import new_call_options

from heddle_tools_service.capabilities.passages import IDENTIFIER, FailedSearch
from heddle_tools_service.sdk import ToolError, ToolUnavailableError

_TIMEOUT_SECONDS = 120.0  # the time of a tool ends before
ResponseT = TypeVar("ResponseT")
CONFIGURATION_ERROR = "KB configuration error:"
"""The beginning of errors of knowledge-base servers, which name the collection themselves."""
INVALID = "invalid"
"""The kind of failure of an invalid request."""
NOT_FOUND = "not_found"
"""The kind of failure of a request for something that does not exist."""


@dataclass(frozen=True, slots=True)
class KnowledgeClient:
    """The knowledge service, with the grant of the run that calls it."""

    service: KnowledgeServiceAsyncStub

    async def ask(self, method: Callable[..., Awaitable[ResponseT]], request: Message) -> ResponseT:
        """Return the response to a request.

        Raises:
            ToolError: The service refuses the request, with the kind `INVALID` if it is wrong and
                `NOT_FOUND` if it names something that does not exist.
            ToolUnavailableError: The service, or one behind it, does not answer.
        """
        try:
            return await method(request, **new_call_options(_TIMEOUT_SECONDS))
        except grpc.aio.AioRpcError as error:
            raise tool_error(from_rpc(error)) from error


def tool_error(error: HeddleError) -> ToolError:
    """Return a failure of the knowledge service as tools report it."""
    if isinstance(error, UnavailableError | DeadlineError):
        return ToolUnavailableError(error.message)
    if isinstance(error, InvalidRequestError):
        return ToolError(error.message, kind=INVALID)
    if isinstance(error, NotFoundError):
        return ToolError(error.message, kind=NOT_FOUND)
    return ToolError(error.message)


def failed_search(
    collection: str,
    error: ToolError | status_pb2.Status,
    failure: str = "Collection {!r} was not searched",
) -> FailedSearch:
    """Return the failure of one collection of several, as tools report it.

    Args:
        collection: The collection, as the request names it.
        error: The error.
        failure: The beginning of the message, which says what failed.
    """
    if isinstance(error, status_pb2.Status):
        error = tool_error(from_status(error))
    message = str(error).removesuffix(".")
    if IDENTIFIER.fullmatch(collection):  # says nothing to people
        message = message.replace(f" {collection!r}", "")
        failure = failure.replace("Collection {!r}", "A collection").replace(" {!r}", "")
    if not message.startswith(CONFIGURATION_ERROR):
        message = f"{failure.format(collection)}: {message}."
    return FailedSearch(collection, message, isinstance(error, ToolUnavailableError))
