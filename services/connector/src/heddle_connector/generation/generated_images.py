"""The store of generated images: a folder per organisation, with a folder per user in it.

The organisation and the user come from the signed identity of the call.
"""

import asyncio
import re
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from heddle.chat.v1.chat_pb2 import GeneratedImage
from heddle_runtime.errors import NotFoundError, ProviderGarbledError
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.serving.background import DAY
from heddle_runtime.storage import durable_files

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


@dataclass(frozen=True)
class GeneratedImages:
    """Stores images and returns them to the user they belong to."""

    root: Path
    quota_bytes: int
    """The quota of a user. The oldest images are deleted to make room."""

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
        try:
            if _NAME.fullmatch(name):
                data = await asyncio.to_thread(self._read, self._folder(user), name)
                return _image(name, data)
        except FileNotFoundError:
            pass
        raise NotFoundError("There is no such picture.")

    async def names(self, user: Identity) -> list[str]:
        """Return the names of the images of a user."""
        return await asyncio.to_thread(self._names, self._folder(user))

    async def remove(self, organization: str, user: str = "") -> None:
        """Delete all images of a user, or of an organisation."""
        folder = self.root.joinpath(*(_folder_name(each) for each in (organization, user) if each))
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def expire(self, organization: str, days: float) -> int:
        """Delete the images of an organisation that are older, and return their number."""
        oldest = time.time() - days * DAY
        folder = self.root / _folder_name(organization)
        return await asyncio.to_thread(self._expire, folder, oldest)

    def _folder(self, user: Identity) -> Path:
        return self.root / _folder_name(home(user)) / _folder_name(user.subject)

    def _read(self, folder: Path, name: str) -> bytes:
        return (folder / name).read_bytes()

    def _names(self, folder: Path) -> list[str]:
        try:
            return sorted(each.name for each in folder.iterdir() if _NAME.fullmatch(each.name))
        except FileNotFoundError:
            return []

    def _expire(self, folder: Path, oldest: float) -> int:
        count = 0
        for path in folder.glob("*/*"):
            with suppress(FileNotFoundError):  # another process deletes files as well
                if _NAME.fullmatch(path.name) and path.stat().st_mtime < oldest:
                    path.unlink()
                    count += 1
        return count

    def _write(self, folder: Path, name: str, data: bytes) -> None:
        _write(folder, name, data, self.quota_bytes)


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


def _write(folder: Path, name: str, data: bytes, quota_bytes: int) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _make_room(folder, quota_bytes - len(data))
    durable_files.write(folder / name, data)


def _make_room(folder: Path, max_bytes: int) -> None:
    """Delete the oldest images until the others fit, and temporary files of killed processes."""
    images = []
    for path in folder.iterdir():
        try:
            status = path.stat()
        except FileNotFoundError:  # another process deletes files as well
            continue
        if not path.name.startswith(durable_files.TEMPORARY_PREFIX):
            images.append((status.st_mtime_ns, status.st_size, path))
        elif time.time() - status.st_mtime > _TEMPORARY_SECONDS:
            path.unlink(missing_ok=True)
    total = sum(size for _, size, _ in images)
    for _, size, path in sorted(images):
        if total <= max_bytes:
            return
        path.unlink(missing_ok=True)
        total -= size
