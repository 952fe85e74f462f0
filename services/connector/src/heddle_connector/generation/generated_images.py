"""The store of generated images: a folder per organisation, with a folder per user in it.

The folders are on this machine, or in an object store that all replicas use. The organisation and
the user come from the signed identity of the call.
"""

import asyncio
import re
import secrets
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from heddle.chat.v1.chat_pb2 import GeneratedImage
from heddle_runtime.errors import NotFoundError, ProviderGarbledError
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.serving.background import DAY
from heddle_runtime.storage import durable_files
from heddle_runtime.storage.object_store import ObjectStore, StoredObject

MAX_IMAGES_BYTES = 20 * 1024 * 1024
"""Size of all images of an answer: they travel in one message of at most 32 MiB."""
_NAME = re.compile(r"[0-9a-f]{32}\.(png|jpg|webp|gif)")
_SAFE_FOLDER = re.compile(r"[a-z0-9][a-z0-9@_.+-]{0,99}")
_MEDIA_TYPES = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp", "gif": "image/gif"}
_SIGNATURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "png"),
    (re.compile(rb"\xff\xd8\xff"), "jpg"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "webp"),
    (re.compile(rb"GIF8[79]a"), "gif"),
)
_TEMPORARY_SECONDS = 3600.0
"""The age at which a temporary file is left over from a killed process."""


class LocalFiles:
    """Files of this machine, by their paths. `ObjectStore` has the same methods."""

    def put(self, key: str, data: bytes) -> None:
        """Store a file, and create its folder; it is on disk when this returns."""
        path = Path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        durable_files.write(path, data)

    def get(self, key: str) -> bytes | None:
        """Return a file, None if there is none."""
        try:
            return Path(key).read_bytes()
        except FileNotFoundError:
            return None

    def delete(self, key: str) -> None:
        """Delete a file, or raise `FileNotFoundError`."""
        Path(key).unlink()

    def all(self, prefix: str) -> list[StoredObject]:
        """Return the files below a folder. Temporary files of killed processes are deleted."""
        stored = []
        for path in Path(prefix).rglob("*"):
            with suppress(FileNotFoundError):  # another process deletes files as well
                status = path.stat()
                if not path.name.startswith(durable_files.TEMPORARY_PREFIX):
                    modified = datetime.fromtimestamp(status.st_mtime, UTC)
                    stored.append(StoredObject(path.as_posix(), status.st_size, modified))
                elif time.time() - status.st_mtime > _TEMPORARY_SECONDS:
                    path.unlink()
        return stored


@dataclass(frozen=True)
class GeneratedImages:
    """Stores images and returns them to the user they belong to."""

    root: Path
    """The folder, or the beginning of the keys in an object store."""
    quota_bytes: int
    """The quota of a user. The oldest images are deleted to make room."""
    files: LocalFiles | ObjectStore = field(default_factory=LocalFiles)

    async def store(self, user: Identity, data: bytes) -> GeneratedImage:
        """Store an image of a user; it is on disk when this returns.

        Raises:
            ProviderGarbledError: The format is not supported.
        """
        name = f"{secrets.token_hex(16)}.{_extension(data)}"
        await asyncio.to_thread(self._write, self._folder(user), name, data)
        return _image(name, data)

    async def get(self, user: Identity, name: str) -> GeneratedImage:
        """Return an image of a user.

        Raises:
            NotFoundError: The user has no image of that name.
        """
        if _NAME.fullmatch(name):
            key = (self._folder(user) / name).as_posix()
            if (data := await asyncio.to_thread(self.files.get, key)) is not None:
                return _image(name, data)
        raise NotFoundError("There is no such picture.")

    async def names(self, user: Identity) -> list[str]:
        """Return the names of the images of a user."""
        stored = await asyncio.to_thread(self._all, self._folder(user))
        return sorted(_name(each) for each in stored)

    async def remove(self, organization: str, user: str = "") -> None:
        """Delete all images of a user, or of an organisation."""
        folder = self.root.joinpath(*(_folder_name(each) for each in (organization, user) if each))
        await asyncio.to_thread(self._remove, folder)

    async def expire(self, organization: str, days: float) -> int:
        """Delete the images of an organisation that are older, and return their number."""
        oldest = time.time() - days * DAY
        folder = self.root / _folder_name(organization)
        return await asyncio.to_thread(self._expire, folder, oldest)

    def _folder(self, user: Identity) -> Path:
        return self.root / _folder_name(home(user)) / _folder_name(user.subject)

    def _all(self, folder: Path) -> list[StoredObject]:
        stored = self.files.all(f"{folder.as_posix()}/")
        return [each for each in stored if _NAME.fullmatch(_name(each))]

    def _write(self, folder: Path, name: str, data: bytes) -> None:
        """Store an image, after the oldest ones have made room for it."""
        stored = sorted(self._all(folder), key=lambda it: (it.modified, it.key))
        left = self.quota_bytes - len(data) - sum(each.size for each in stored)
        for each in stored:
            if left >= 0:
                break
            self._delete([each])
            left += each.size
        self.files.put((folder / name).as_posix(), data)

    def _expire(self, folder: Path, oldest: float) -> int:
        return self._delete(it for it in self._all(folder) if it.modified.timestamp() < oldest)

    def _remove(self, folder: Path) -> None:
        self._delete(self._all(folder))
        if isinstance(self.files, LocalFiles):  # the folder has the name of the user
            shutil.rmtree(folder, ignore_errors=True)

    def _delete(self, images: Iterable[StoredObject]) -> int:
        count = 0
        for each in images:
            with suppress(FileNotFoundError):  # another process deletes files as well
                self.files.delete(each.key)
                count += 1
        return count


def _name(image: StoredObject) -> str:
    return image.key.rpartition("/")[2]


def _image(name: str, data: bytes) -> GeneratedImage:
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
    return GeneratedImage(name=name, media_type=media_type, data=data)


def _extension(data: bytes) -> str:
    """Return the file extension for an image. The provider's media type is not trusted."""
    for signature, extension in _SIGNATURES:
        if signature.match(data):
            return extension
    raise ProviderGarbledError(
        "The provider sent a picture that is none of PNG, JPEG, WebP and GIF."
    )


def _folder_name(name: str) -> str:
    """Return a unique folder name for an organisation or a user."""
    if _SAFE_FOLDER.fullmatch(name):
        return name
    return f"~{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"
