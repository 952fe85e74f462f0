"""The files of all people: a folder for each person, and in it one for each file."""

import hashlib
import shutil
import time
from pathlib import Path

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.durable_files import sync, write
from heddle_runtime.errors import AlreadyExistsError, NotFoundError, ResourceExhaustedError

from heddle_knowledge.access import Person
from heddle_knowledge.uploads.records import is_id

MAX_FILES = 5_000
MAX_BYTES = 5 * 1024**3
_RECORD = "file.pb"
_WRITE_SECONDS = 3_600.0
"""An unfinished file is left over from a crash if it is older."""


def person_key(person: Person) -> str:
    """Return what stands for a person on the disk: two of one name in two organisations differ."""
    return hashlib.sha256(f"{person.organization}\0{person.name}".encode()).hexdigest()[:32]


def check_room(files: int, size: int) -> None:
    """Refuse a person's files, the new one among them, if they are too many or too large."""
    if files > MAX_FILES or size > MAX_BYTES:
        raise ResourceExhaustedError(
            f"A person may keep {MAX_FILES:,} files and {MAX_BYTES >> 20:,} MiB in all. "
            "Delete files that are in their collections already."
        )


class Uploads:
    """Reads and writes the folder. Blocks: call it from a thread."""

    def __init__(self, root: Path) -> None:
        """Take the folder, which is made when something is kept."""
        self._root = root / "people"

    def keep(self, person: str, upload: pb.File, data: bytes) -> None:
        """Keep a file.

        Raises:
            ResourceExhaustedError: The person has too many, or too much.
        """
        uploads = [*self.all(person), upload]
        check_room(len(uploads), sum(each.size for each in uploads))
        self.put(person, upload, data)

    def put(self, person: str, upload: pb.File, data: bytes) -> None:
        """Keep a file for which there is room."""
        unfinished = self._root / person / f".{upload.id}"
        unfinished.mkdir(parents=True)
        try:
            write(unfinished / "content", data)
            write(unfinished / _RECORD, upload.SerializeToString())
            unfinished.rename(self._root / person / upload.id)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        sync(self._root / person)

    def get(self, person: str, identifier: str) -> pb.File:
        """Return a file of a person's.

        Raises:
            NotFoundError: There is none.
        """
        return pb.File.FromString(self._read(person, identifier, _RECORD))

    def repeated(self, person: str, identifier: str, data: bytes) -> pb.File | None:
        """Return a file of a person's that an upload repeats, None if it is new.

        Raises:
            AlreadyExistsError: The file has another content.
        """
        try:
            upload, stored = self.get(person, identifier), self.content(person, identifier)
        except NotFoundError:
            return None
        if stored != data:
            raise other_content()
        return upload

    def content(self, person: str, identifier: str) -> bytes:
        """Return what a file of a person's holds.

        Raises:
            NotFoundError: There is none.
        """
        return self._read(person, identifier, "content")

    def all(self, person: str) -> list[pb.File]:
        """Return the files of a person."""
        uploads = []
        for path in (self._root / person).glob(f"file-*/{_RECORD}"):
            try:
                uploads.append(pb.File.FromString(path.read_bytes()))
            except FileNotFoundError:  # deleted meanwhile
                continue
        return uploads

    def keys(self) -> list[tuple[str, str]]:
        """Return the person and the identifier of every file."""
        return [(path.parent.name, path.name) for path in self._root.glob("*/file-*")]

    def delete(self, person: str, identifier: str) -> None:
        """Delete a file of a person's.

        Raises:
            NotFoundError: There is none.
        """
        place = self._place(person, identifier)
        gone = place.with_name(f".{identifier}")
        try:
            place.rename(gone)
        except FileNotFoundError:
            raise no_file(identifier) from None
        sync(place.parent)
        shutil.rmtree(gone, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what uploads and deletions left that a crash broke off."""
        for path in self._root.glob("*/.file-*"):
            try:
                age = time.time() - path.stat().st_mtime
            except FileNotFoundError:  # another process was at it
                continue
            if age > _WRITE_SECONDS:
                shutil.rmtree(path, ignore_errors=True)

    def _read(self, person: str, identifier: str, name: str) -> bytes:
        try:
            return (self._place(person, identifier) / name).read_bytes()
        except FileNotFoundError:
            raise no_file(identifier) from None

    def _place(self, person: str, identifier: str) -> Path:
        if not is_id(identifier):
            raise no_file(identifier)
        return self._root / person / identifier


def other_content() -> AlreadyExistsError:
    """Return the error for an upload that repeats the key of another content."""
    return AlreadyExistsError(
        "The key of this upload belongs to another content. Upload it with another key."
    )


def no_file(identifier: str) -> NotFoundError:
    """Return the error for a file that is not there, or another person's."""
    return NotFoundError(
        f"There is no file {identifier[:80]!r}. List the files, or upload it first."
    )
