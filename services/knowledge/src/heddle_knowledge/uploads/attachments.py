"""The files and batches of each collection and their state: one small file for each."""

import os
import shutil
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path

import msgspec
from heddle_runtime.durable_files import sync, write
from heddle_runtime.errors import NotFoundError

from heddle_knowledge.locks import exclusive
from heddle_knowledge.uploads.attachment_reading import AttachmentReading
from heddle_knowledge.uploads.records import BATCH, FILE, Attachment, Batch, Ingestion, is_id

_decode = msgspec.json.Decoder(Attachment).decode
_MAX_KNOWN = 16
"""Collections whose files stay in memory."""
_decode_batch = msgspec.json.Decoder(Batch).decode


class Attachments(AttachmentReading):
    """Reads and writes the folder. Blocks: call it from a thread."""

    shared = False
    """Whether replicas take over each other's work, and so look for it."""

    def __init__(self, root: Path) -> None:
        """Take the folder, which is created when something is stored."""
        self._root = root / "attached"
        self._unstored: dict[tuple[str, str], Attachment] = {}
        self._ingestions: dict[tuple[str, str], Ingestion] = {}
        self._known: dict[str, dict[str, tuple[tuple[int, int], Attachment]]] = {}
        """Files of collections as they were read last, with the versions of what was read."""

    def show(self, attachment: Attachment) -> None:
        """Return this state of a file to readers in this process until `keep` stores one."""
        self._unstored[attachment.collection, attachment.file_id] = attachment

    def shown(self, collection: str, identifier: str) -> Attachment | None:
        """Return the state of a file that could not be stored."""
        return self._unstored.get((collection, identifier))

    def report(self, collection: str, identifier: str, ingestion: Ingestion | None) -> None:
        """Show how far the ingestion of a file is; None: it has ended."""
        if ingestion is None:
            self._ingestions.pop((collection, identifier), None)
        else:
            self._ingestions[collection, identifier] = ingestion

    def reported(self, attachments: Sequence[Attachment]) -> Mapping[str, Ingestion]:
        """Return the ingestions of files of one collection, by their identifiers."""
        every = (
            (it.file_id, self._ingestions.get((it.collection, it.file_id))) for it in attachments
        )
        return {identifier: each for identifier, each in every if each is not None}

    def prepare(self, collection: str) -> None:
        """Create the folder of a collection."""
        (self._root / collection).mkdir(parents=True, exist_ok=True)

    def keep(self, attachment: Attachment) -> None:
        """Store a file of a collection, whose folder `prepare` has created."""
        self._write(attachment.collection, attachment.file_id, attachment)
        self._unstored.pop((attachment.collection, attachment.file_id), None)

    def keep_batch(self, batch: Batch) -> None:
        """Store a batch of a collection.

        Raises:
            NotFoundError: The collection was deleted meanwhile.
        """
        try:
            self._write(batch.collection, batch.id, batch)
        except FileNotFoundError:
            raise NotFoundError("The collection was just deleted. Create it again.") from None

    def batches(self, collection: str) -> list[Batch]:
        """Return the batches of a collection."""
        paths = (self._root / collection).glob(f"{BATCH}*.json")
        return [_decode_batch(path.read_bytes()) for path in paths]

    def forget_batch(self, collection: str, identifier: str) -> None:
        """Forget a batch of a collection."""
        self._path(collection, identifier).unlink(missing_ok=True)

    def _find_batch(self, collection: str, identifier: str) -> Batch | None:
        with suppress(FileNotFoundError):
            return _decode_batch(self._path(collection, identifier).read_bytes())
        return None

    def find(self, collection: str, identifier: str) -> Attachment | None:
        """Return a file of a collection, None if there is none."""
        if not is_id(identifier):
            return None
        try:
            stored = _decode(self._path(collection, identifier).read_bytes())
        except FileNotFoundError:
            return None
        return self.shown(collection, identifier) or stored

    def of(self, collection: str) -> list[Attachment]:
        """Return the files of a collection. Only those are read that have changed since."""
        known = self._known.get(collection, {})
        current: dict[str, tuple[tuple[int, int], Attachment]] = {}
        for name, version in _versions(self._root / collection):
            stored = known.get(name)
            if stored is None or stored[0] != version:
                try:
                    content = (self._root / collection / name).read_bytes()
                except FileNotFoundError:  # detached meanwhile
                    continue
                stored = version, _decode(content)
            current[name] = stored
        self._known[collection] = current
        while len(self._known) > _MAX_KNOWN:
            self._known.pop(next(iter(self._known)), None)
        return [
            self.shown(stored.collection, stored.file_id) or stored
            for _, stored in current.values()
        ]

    def of_batch(self, batch: Batch) -> list[Attachment]:
        """Return the files of a batch that are still in the collection."""
        return list(filter(None, (self.find(batch.collection, each) for each in batch.files)))

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
        self._unstored.pop((collection, identifier), None)
        self._path(collection, identifier).unlink(missing_ok=True)
        self.note_attempts(collection, identifier, 0)
        self.lock(collection, identifier).unlink(missing_ok=True)
        sync(self._root / collection)

    def forget_all(self, collection: str) -> None:
        """Forget the files of a collection that is no more."""
        shutil.rmtree(self._root / collection, ignore_errors=True)

    def lock(self, collection: str, identifier: str) -> Path:
        """Return the file whose lock is held while a file of a collection is worked on."""
        return self._root / collection / f"{identifier}.lock"

    @asynccontextmanager
    async def locked(self, collection: str, identifier: str) -> AsyncGenerator[None]:
        """Exclude all others that work on a file of a collection; wait for them."""
        async with exclusive(self.lock(collection, identifier)):
            yield

    @asynccontextmanager
    async def claimed(self, collection: str, identifier: str) -> AsyncGenerator[bool]:
        """Do the same, for the ingestion of a file. Yields True: it may begin."""
        async with exclusive(self.lock(collection, identifier)):
            yield True

    def naming(self, collection: str) -> AbstractAsyncContextManager[None]:
        """Do nothing: the locks of the process suffice, as one process serves a folder."""
        return nullcontext()

    def attempts(self, collection: str, identifier: str) -> int:
        """Return how often the service died while it read a file."""
        try:
            return len(self._attempts(collection, identifier).read_bytes())
        except FileNotFoundError:
            return 0

    def note_attempts(self, collection: str, identifier: str, count: int) -> None:
        """Store the number of attempts to read a file that have begun and not ended.

        Not written to disk at once: it outlasts the death of this process, not of the machine.
        """
        path = self._attempts(collection, identifier)
        if count:
            path.write_bytes(b"." * count)
        else:
            path.unlink(missing_ok=True)

    def _attempts(self, collection: str, identifier: str) -> Path:
        return self._root / collection / f"{identifier}.attempts"

    def _path(self, collection: str, identifier: str) -> Path:
        return self._root / collection / f"{identifier}.json"

    def _write(self, collection: str, identifier: str, value: Attachment | Batch) -> None:
        write(self._path(collection, identifier), msgspec.json.encode(value))

    def _read(self, folder: Path) -> Iterator[Attachment]:
        for path in folder.glob("file-*.json"):
            try:
                stored = _decode(path.read_bytes())
                yield self.shown(stored.collection, stored.file_id) or stored
            except FileNotFoundError:  # detached meanwhile
                continue


def _versions(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the names of the files of a folder, each with what changes when it is replaced."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(FILE) and entry.name.endswith(".json"):
                with suppress(FileNotFoundError):
                    status = entry.stat()
                    yield entry.name, (status.st_ino, status.st_mtime_ns)
