"""Stores the bytes of files in a folder, as `ObjectStore` does in a bucket."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from heddle_runtime.storage.durable_files import sync, write
from heddle_runtime.storage.object_store import StoredObject


class FolderObjects:
    """Files, whose paths in a folder are the keys. All methods may raise `OSError`."""

    def __init__(self, folder: Path) -> None:
        """Take the folder, which is made when something is stored."""
        self._folder = folder

    def put(self, key: str, data: bytes) -> None:
        """Store an object, on disk when this returns."""
        path = self._folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, data)
        sync(path.parent.parent)

    def get(self, key: str) -> bytes | None:
        """Return an object, None if there is none."""
        try:
            return (self._folder / key).read_bytes()
        except FileNotFoundError:
            return None

    def delete(self, key: str) -> None:
        """Delete an object, if it is there."""
        (self._folder / key).unlink(missing_ok=True)

    def all(self, prefix: str) -> list[StoredObject]:
        """Return the objects whose keys begin with a prefix, and files that are not complete."""
        objects = []
        for path in (self._folder / prefix).rglob("*"):
            with suppress(FileNotFoundError):  # deleted meanwhile
                if path.is_file():
                    status = path.stat()
                    modified = datetime.fromtimestamp(status.st_mtime, UTC)
                    key = str(path.relative_to(self._folder))
                    objects.append(StoredObject(key, status.st_size, modified))
        return objects
