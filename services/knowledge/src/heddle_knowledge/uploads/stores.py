"""What keeps uploaded files and files of collections: folders, or a database for all replicas."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from heddle.knowledge.v1 import files_pb2 as pb

from heddle_knowledge.uploads.attachments import Attachments
from heddle_knowledge.uploads.folder import Uploads
from heddle_knowledge.uploads.records import Attachment, Batch, Ingestion

if TYPE_CHECKING:  # loads the driver
    from heddle_knowledge.uploads.files_database import FilesDatabase


class UploadStore(Protocol):
    """The files of all people. Blocks: call it from a thread. See `folder.Uploads`."""

    def keep(self, person: str, upload: pb.File, data: bytes) -> None:
        """Keep a file."""

    def get(self, person: str, identifier: str) -> pb.File:
        """Return a file of a person's."""

    def repeated(self, person: str, identifier: str, data: bytes) -> pb.File | None:
        """Return a file of a person's that an upload repeats, None if it is new."""

    def content(self, person: str, identifier: str) -> bytes:
        """Return what a file of a person's holds."""

    def all(self, person: str) -> list[pb.File]:
        """Return the files of a person."""

    def keys(self) -> list[tuple[str, str]]:
        """Return the person and the identifier of every file."""

    def delete(self, person: str, identifier: str) -> None:
        """Delete a file of a person's."""

    def sweep(self) -> None:
        """Remove what a crash broke off."""


class AttachmentStore(Protocol):
    """The files of collections. Blocks: call it from a thread. See `attachments.Attachments`."""

    shared: bool
    """Whether replicas take over each other's work, and so look for it."""

    def show(self, attachment: Attachment) -> None:
        """Return this state of a file to readers in this process until `keep` stores one."""

    def shown(self, collection: str, identifier: str) -> Attachment | None:
        """Return the state of a file that could not be stored."""

    def report(self, collection: str, identifier: str, ingestion: Ingestion | None) -> None:
        """Show how far the ingestion of a file is; None: it has ended. Does not block."""

    def reported(self, attachments: Sequence[Attachment]) -> Mapping[str, Ingestion]:
        """Return the ingestions of files of one collection, by their identifiers."""

    def prepare(self, collection: str) -> None:
        """Create what `keep` needs of a collection."""

    def keep(self, attachment: Attachment) -> None:
        """Store a file of a collection."""

    def keep_batch(self, batch: Batch) -> None:
        """Store a batch of a collection."""

    def batch(self, collection: str, identifier: str) -> Batch:
        """Return a batch of a collection."""

    def batches(self, collection: str) -> list[Batch]:
        """Return the batches of a collection."""

    def forget_batch(self, collection: str, identifier: str) -> None:
        """Forget a batch of a collection."""

    def get(self, collection: str, identifier: str) -> Attachment:
        """Return a file of a collection."""

    def find(self, collection: str, identifier: str) -> Attachment | None:
        """Return a file of a collection, None if there is none."""

    def of(self, collection: str) -> list[Attachment]:
        """Return the files of a collection."""

    def of_batch(self, batch: Batch) -> list[Attachment]:
        """Return the files of a batch that are still in the collection."""

    def anywhere(self, identifier: str) -> bool:
        """Say whether a file is in any collection."""

    def unfinished(self) -> list[Attachment]:
        """Return the files that are on their way and that no other replica works on."""

    def forget(self, collection: str, identifier: str) -> None:
        """Forget a file of a collection."""

    def forget_all(self, collection: str) -> None:
        """Forget the files of a collection that is no more."""

    def attempts(self, collection: str, identifier: str) -> int:
        """Return how often the service died while it read a file."""

    def note_attempts(self, collection: str, identifier: str, count: int) -> None:
        """Store the number of attempts to read a file that have begun and not ended."""

    def locked(self, collection: str, identifier: str) -> AbstractAsyncContextManager[None]:
        """Exclude all others that work on a file of a collection; wait for them."""

    def claimed(self, collection: str, identifier: str) -> AbstractAsyncContextManager[bool]:
        """Exclude all others for the ingestion of a file; say whether it may begin."""

    def naming(self, collection: str) -> AbstractAsyncContextManager[None]:
        """Exclude all other replicas that name documents of a collection."""


@dataclass(frozen=True, slots=True)
class FileStores:
    """Both."""

    uploads: UploadStore
    attachments: AttachmentStore
    database: "FilesDatabase | None" = None
    """Where they are, unless in a folder."""

    @classmethod
    def in_folder(cls, root: Path) -> Self:
        """Return the stores in a folder on a local disk."""
        return cls(Uploads(root), Attachments(root))
