"""What reading files of collections and their batches has in common, wherever they are stored."""

from abc import ABC, abstractmethod

from heddle_runtime.errors import NotFoundError

from heddle_knowledge.uploads.records import BATCH, Attachment, Batch, is_id


class AttachmentReading(ABC):
    """Refuses to read what is not there."""

    def get(self, collection: str, identifier: str) -> Attachment:
        """Return a file of a collection.

        Raises:
            NotFoundError: There is none.
        """
        if (attachment := self.find(collection, identifier)) is not None:
            return attachment
        raise _no_attachment(identifier)

    def batch(self, collection: str, identifier: str) -> Batch:
        """Return a batch of a collection.

        Raises:
            NotFoundError: There is none.
        """
        if is_id(identifier, BATCH) and (batch := self._find_batch(collection, identifier)):
            return batch
        raise _no_batch(identifier)

    @abstractmethod
    def find(self, collection: str, identifier: str) -> Attachment | None:
        """Return a file of a collection, None if there is none."""

    @abstractmethod
    def _find_batch(self, collection: str, identifier: str) -> Batch | None:
        """Return a batch of a collection by a valid identifier, None if there is none."""


def _no_batch(identifier: str) -> NotFoundError:
    """Return the error for a batch that a collection does not have."""
    return NotFoundError(
        f"The collection has no batch of files {identifier[:80]!r}. Make one, or list the files of "
        "the collection."
    )


def _no_attachment(identifier: str) -> NotFoundError:
    """Return the error for a file that a collection does not have."""
    return NotFoundError(
        f"The collection has no file {identifier[:80]!r}. List its files, or attach it."
    )
