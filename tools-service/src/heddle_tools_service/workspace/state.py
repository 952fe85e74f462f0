"""The service's data of a workspace, which its user cannot access: locks, journal and backups.

- `locks/` has one file for all writers, and one for each group of paths.
- `journal/` has one file for each patch in progress. The file is locked while its writer lives.
- `backups/<id>/` has the files from before a patch, and the record of the patch when complete.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from heddle_runtime.storage.durable_files import sync

from heddle_tools_service.workspace import locks
from heddle_tools_service.workspace.limits import MAX_BACKUPS, MAX_BACKUPS_BYTES

_RECORD = "record.json"
_UNFINISHED = ".new"
_MAX_WRITING_SECONDS = 60.0


class FileRecord(msgspec.Struct, frozen=True):
    """A file of a patch, as its record describes it."""

    path: str
    before: str | None
    """The digest of what was there; None: nothing."""
    after: str | None
    """The digest of what was put there; None: nothing."""
    mode: int


class Record(msgspec.Struct, frozen=True):
    """A patch: enough to undo it."""

    id: str
    files: tuple[FileRecord, ...]
    folders: tuple[str, ...]
    """Folders that did not exist before, outermost first."""


@dataclass(frozen=True, slots=True)
class State:
    """The folder of one workspace's state."""

    folder: Path

    @property
    def locks(self) -> Path:
        """The folder of the locks."""
        return self.folder / "locks"

    @property
    def journal(self) -> Path:
        """The folder of the records of patches that are being written."""
        return self.folder / "journal"

    def make(self) -> None:
        """Make the folders, for the service alone."""
        for name in ("locks", "journal", "backups"):
            (self.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def backup(self, identifier: str) -> Path:
        """Return the folder of a patch's backup."""
        return self.folder / "backups" / identifier

    @contextmanager
    def noted(self, record: Record) -> Iterator[None]:
        """Record a patch in the journal, and lock the record until the end of the block."""
        unfinished = self.journal / f"{record.id}{_UNFINISHED}"
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            locks.taken(descriptor)  # before anybody can see it
            try:
                with os.fdopen(descriptor, "wb", closefd=False) as file:  # writes all, or fails
                    file.write(msgspec.json.encode(record))
                os.fsync(descriptor)
            except BaseException:
                unfinished.unlink()
                raise
            unfinished.rename(self.journal / record.id)
            sync(self.journal)
            yield
        finally:
            os.close(descriptor)

    def finish(self, record: Record) -> None:
        """Complete a patch in one step: move its record from the journal to its backup."""
        backup = self.backup(record.id)
        (self.journal / record.id).rename(backup / _RECORD)
        sync(backup)
        sync(self.journal)

    def forget(self, record: Record) -> None:
        """Remove an undone patch from the journal."""
        (self.journal / record.id).unlink()
        sync(self.journal)
        shutil.rmtree(self.backup(record.id), ignore_errors=True)

    def abandoned(self) -> list[Record]:
        """Return the patches whose writer died."""
        try:
            names = os.listdir(self.journal)  # noqa: PTH208 - asked for before every call
        except FileNotFoundError:
            return []
        records = (self._abandoned(self.journal / name) for name in names if "." not in name)
        return [record for record in records if record is not None]

    def _abandoned(self, path: Path) -> Record | None:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # finished meanwhile
            return None
        try:
            if not locks.taken(descriptor, shared=True) or not path.exists():
                return None
            return msgspec.json.decode(path.read_bytes(), type=Record)
        except FileNotFoundError:  # as above
            return None
        finally:
            os.close(descriptor)

    def complete(self, identifier: str) -> Record | None:
        """Return the record of a complete patch; None if there is none, or no longer."""
        try:
            data = (self.backup(identifier) / _RECORD).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return msgspec.json.decode(data, type=Record)

    def prune(self) -> None:
        """Remove the oldest backups beyond the limits, and the remains of unfinished patches."""
        for note in self.journal.glob(f"*{_UNFINISHED}"):
            if _age(note) > _MAX_WRITING_SECONDS:
                note.unlink(missing_ok=True)
        count, size = 0, 0
        for backup in sorted((self.folder / "backups").iterdir(), reverse=True):
            # In this order: a patch's note is there first, and then becomes the record.
            being_written = (self.journal / backup.name).exists()
            if not (backup / _RECORD).exists():
                if not being_written:  # it was not removed to the end
                    shutil.rmtree(backup, ignore_errors=True)
                continue
            count += 1
            size += _size(backup)
            if count > MAX_BACKUPS or (count > 1 and size > MAX_BACKUPS_BYTES):
                shutil.rmtree(backup, ignore_errors=True)


def _size(folder: Path) -> int:
    try:
        return sum(file.stat().st_size for file in folder.iterdir())
    except FileNotFoundError:  # another process removes it
        return 0


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:  # finished meanwhile
        return 0.0


def save(path: Path, data: bytes) -> None:
    """Write a new file of the service's own to the disk itself."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
