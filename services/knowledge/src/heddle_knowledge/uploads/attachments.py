"""Which files are in which collections, and how far they are: one small file for each."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
from heddle_runtime.durable_files import sync, write
from heddle_runtime.errors import NotFoundError

from heddle_knowledge.uploads.records import Attachment, is_id

_decode = msgspec.json.Decoder(Attachment).decode


class Attachments:
    """Reads and writes the folder. Blocks: call it from a thread."""

    def __init__(self, root: Path) -> None:
        """Take the folder, which is made when something is kept."""
        self._root = root / "attached"

    def prepare(self, collection: str) -> None:
        """Make room for the files of a collection."""
        (self._root / collection).mkdir(parents=True, exist_ok=True)

    def keep(self, attachment: Attachment) -> None:
        """Keep what is known of a file in a collection, for which `prepare` has made room."""
        folder = self._root / attachment.collection
        write(folder / f"{attachment.file_id}.json", msgspec.json.encode(attachment))

    def get(self, collection: str, identifier: str) -> Attachment:
        """Return a file of a collection.

        Raises:
            NotFoundError: There is none.
        """
        attachment = self.find(collection, identifier)
        if attachment is None:
            raise NotFoundError(
                f"The collection has no file {identifier[:80]!r}. List its files, or attach it."
            )
        return attachment

    def find(self, collection: str, identifier: str) -> Attachment | None:
        """Return a file of a collection, None if there is none."""
        if not is_id(identifier):
            return None
        try:
            return _decode((self._root / collection / f"{identifier}.json").read_bytes())
        except FileNotFoundError:
            return None

    def of(self, collection: str) -> list[Attachment]:
        """Return the files of a collection, the oldest first."""
        attachments = list(self._read(self._root / collection))
        return sorted(attachments, key=lambda it: (it.created_at, it.file_id))

    def anywhere(self, identifier: str) -> bool:
        """Say whether a file is in any collection."""
        return is_id(identifier) and any(self._root.glob(f"*/{identifier}.json"))

    def unfinished(self) -> list[Attachment]:
        """Return the files of all collections that are on their way, the oldest first."""
        every = (it for folder in self._root.glob("*") for it in self._read(folder))
        waiting = (it for it in every if it.state == "in_progress")
        return sorted(waiting, key=lambda it: it.created_at)

    def forget(self, collection: str, identifier: str) -> None:
        """Forget a file of a collection."""
        folder = self._root / collection
        (folder / f"{identifier}.json").unlink(missing_ok=True)
        self.lock(collection, identifier).unlink(missing_ok=True)
        sync(folder)

    def forget_all(self, collection: str) -> None:
        """Forget the files of a collection that is no more."""
        shutil.rmtree(self._root / collection, ignore_errors=True)

    def lock(self, collection: str, identifier: str) -> Path:
        """Return the file whose lock is held while a file of a collection is worked on."""
        return self._root / collection / f"{identifier}.lock"

    def _read(self, folder: Path) -> Iterator[Attachment]:
        for path in folder.glob("file-*.json"):
            try:
                yield _decode(path.read_bytes())
            except FileNotFoundError:  # detached meanwhile
                continue
