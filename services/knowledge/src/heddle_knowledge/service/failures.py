"""From the engine's errors to those that callers of the service get."""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from inspect import isasyncgenfunction
from typing import Any

from google.protobuf.message import Message
from heddle_runtime.errors import (
    AlreadyExistsError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    NotSetUpError,
    ResourceExhaustedError,
    UnavailableError,
)
from heddle_runtime.http.remote_json import RemoteError
from heddle_runtime.identity.call_metadata import Context
from heddle_runtime.storage.failures import storage_problem

from heddle_knowledge.errors import (
    BackendError,
    BackendUnavailableError,
    BusyError,
    CollectionExistsError,
    CollectionNotFoundError,
    DocumentNotFoundError,
    EmbeddingError,
    KnowledgeError,
    RerankingError,
    StorageError,
    UnsuitableCollectionError,
)

_KINDS: dict[type[KnowledgeError], type[HeddleError]] = {
    CollectionNotFoundError: NotFoundError,
    DocumentNotFoundError: NotFoundError,
    CollectionExistsError: AlreadyExistsError,
    RerankingError: NotSetUpError,
    StorageError: UnavailableError,
    BackendError: NotSetUpError,
    BackendUnavailableError: UnavailableError,
    UnsuitableCollectionError: NotSetUpError,
}


_NO_EMBEDDINGS = "The embedding model is not available. Try again later, or ask the operator."


def refusal_of(error: KnowledgeError) -> HeddleError:
    """Return the error that callers get. The engine's messages may be shown."""
    if isinstance(error, EmbeddingError):
        return UnavailableError(_NO_EMBEDDINGS, diagnosis=str(error))
    if problem := storage_problem(error.__cause__):
        return problem
    if isinstance(error, BusyError):
        return ResourceExhaustedError(str(error), retry_after=error.retry_seconds)
    # Errors that are not in the table are faults of the request.
    return _KINDS.get(type(error), InvalidRequestError)(str(error), diagnosis=_cause(error))


def reason(error: KnowledgeError) -> str:
    """Return the reason of the error that callers get."""
    return refusal_of(error).reason


def _cause(error: KnowledgeError) -> str:
    """Return the cause of an error for operators. Only the text of known causes has no secrets."""
    match error.__cause__:
        case None:
            return ""
        case OSError() | RemoteError() as cause:
            return f"{type(cause).__name__}: {cause}"
        case KnowledgeError() as cause:
            return str(cause)
        case cause:
            return type(cause).__name__


class TranslatedFailures:
    """A servicer whose methods raise the errors that callers get, in place of the engine's."""

    def __init__(self, servicer: object) -> None:
        self._servicer = servicer

    def __getattr__(self, method: str) -> Callable[..., Any]:
        """Return the wrapped method of an RPC."""
        answer = getattr(self._servicer, method)

        async def unary(request: Message, context: Context) -> Message:
            with _translated():
                response: Message = await answer(request, context)
                return response

        async def stream(request: Message, context: Context) -> AsyncGenerator[Message]:
            with _translated():
                async with aclosing(answer(request, context)) as responses:
                    async for response in responses:
                        yield response

        return stream if isasyncgenfunction(answer) else unary


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except KnowledgeError as error:
        raise refusal_of(error) from error
