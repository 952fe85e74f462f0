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
    UnsuitableCollectionError: NotSetUpError,
}


@contextmanager
def known_failures() -> Iterator[None]:
    """Raise what the engine refuses as what callers know. Its messages are made to be shown."""
    try:
        yield
    except KnowledgeError as error:
        # What is not in the list is wrong with the request, and stays wrong.
        raise _KINDS.get(type(error), InvalidRequestError)(str(error)) from error
