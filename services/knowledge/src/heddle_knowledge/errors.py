"""The errors of the knowledge engine.

Every message may be shown to the user: it names the thing and the remedy, never a path or a cause
from below, which travels as `__cause__` for the log.
"""


class KnowledgeError(Exception):
    """Anything that the knowledge engine refuses or fails to do."""

    @property
    def message(self) -> str:
        """What happened and what helps, in place of a traceback in logs."""
        return str(self)


class InvalidInputError(KnowledgeError):
    """An argument breaks a rule: a name, a page size, a search mode. Raised before any work."""


class RefusedQueryError(InvalidInputError):
    """A query over documents is not run, or failed. The message helps to write a better one."""


class CollectionNotFoundError(KnowledgeError):
    """There is no collection of this name, or it was deleted during the call."""


def no_collection(reference: str) -> CollectionNotFoundError:
    """Return the error for a collection that does not exist, or that the caller may not see."""
    return CollectionNotFoundError(
        f"There is no collection {reference!r}. List the collections, or create it first."
    )


class CollectionExistsError(KnowledgeError):
    """A collection of this name exists already."""


class DocumentNotFoundError(KnowledgeError):
    """The collection has no document of this name."""


class ForeignBackendError(KnowledgeError):
    """The collection is only registered here; another backend holds its documents."""


class UnsuitableCollectionError(KnowledgeError):
    """The collection was not made for what is asked of it."""


class EmbedderMismatchError(KnowledgeError):
    """The collection was filled by another embedding model than the one configured now."""


class UnreadableDocumentError(KnowledgeError, ValueError):
    """No text can be taken from a document: wrong type, damaged, encrypted, empty or too large."""


class FetchError(KnowledgeError):
    """A document cannot be fetched from the server that a user names."""


class BusyError(KnowledgeError):
    """Too much work waits already; a later attempt may succeed."""

    retry_seconds = 5.0


class EmbeddingError(KnowledgeError):
    """The embedding model cannot be loaded, is not the expected file, or keeps failing."""


class RerankingError(KnowledgeError):
    """A search asks for a reranking that the collection or the service is not set up for."""


class StorageError(KnowledgeError):
    """The engine below failed to read or write, for instance on a full disk."""


class BackendError(KnowledgeError):
    """A knowledge-base server, or a model of another server, refuses or answers nonsense."""


class BackendUnavailableError(BackendError):
    """A knowledge-base server, or a model of another server, does not answer."""
