"""From the engine's errors to those that callers of the service get."""

from collections.abc import Iterator
from contextlib import contextmanager

from heddle_runtime.errors import (
    AlreadyExistsError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    NotSetUpError,
    UnavailableError,
)

from heddle_knowledge.errors import (
    BackendError,
    BackendUnavailableError,
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
    EmbeddingError: UnavailableError,
    RerankingError: NotSetUpError,
    StorageError: UnavailableError,
    BackendError: NotSetUpError,
    BackendUnavailableError: UnavailableError,
    UnsuitableCollectionError: NotSetUpError,
}


def refusal_of(error: KnowledgeError) -> HeddleError:
    """Return the error that callers get. The engine's messages may be shown."""
    # Errors that are not in the table are faults of the request.
    return _KINDS.get(type(error), InvalidRequestError)(str(error))


@contextmanager
def known_failures() -> Iterator[None]:
    """Raise the engine's errors as those that callers get."""
    try:
        yield
    except KnowledgeError as error:
        raise refusal_of(error) from error
