"""Pictures that models made: a folder for each organisation, and in it one for each person.

Who that is comes from the signed identity of the call.
"""

import asyncio
import os
import re
import secrets
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from heddle_runtime.errors import NotFoundError, ProviderGarbledError
from heddle_runtime.identity import Identity, home

from heddle_connector.generation.events import Picture

LARGEST = 20 * 1024 * 1024
"""Bytes of all pictures of an answer: they travel together, in a message of at most 32 MiB."""
_NAME = re.compile(r"[0-9a-f]{32}\.(png|jpg|webp|gif)")
_PLAIN = re.compile(r"[a-z0-9][a-z0-9@_.+-]{0,99}")
_TYPES = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp", "gif": "image/gif"}
_BEGINNINGS = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "png"),
    (re.compile(rb"\xff\xd8\xff"), "jpg"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "webp"),
    (re.compile(rb"GIF8[79]a"), "gif"),
)
_UNFINISHED = ".new"
_ABANDONED = 3600.0
"""Seconds after which nobody writes a file any more."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """All that are kept."""

    root: Path
    most: int
    """Bytes of a person's. The oldest make room."""

    async def keep(self, person: Identity, data: bytes) -> Picture:
        """Keep a picture for somebody, on the disk itself before this returns.

        Raises:
            ProviderGarbledError: It is none of the kinds that are kept.
        """
        name = f"{secrets.token_hex(16)}.{_kind(data)}"
        await asyncio.to_thread(_add, self._folder(person), name, data, self.most)
        return Picture(name, media_type(name), data)

    async def get(self, person: Identity, name: str) -> Picture:
        """Return a picture of somebody's.

        Raises:
            NotFoundError: He has none of that name.
        """
        try:
            if _NAME.fullmatch(name):
                data = await asyncio.to_thread((self._folder(person) / name).read_bytes)
                return Picture(name, media_type(name), data)
        except FileNotFoundError:
            pass
        raise NotFoundError("There is no such picture.")

    def _folder(self, person: Identity) -> Path:
        return self.root / _part(home(person)) / _part(person.subject)


def media_type(name: str) -> str:
    """Return the media type of a kept picture."""
    return _TYPES[name.rpartition(".")[2]]


def _kind(data: bytes) -> str:
    """Return the ending for a picture's name. What its provider says of it is not believed."""
    for beginning, kind in _BEGINNINGS:
        if beginning.match(data):
            return kind
    raise ProviderGarbledError(
        "The provider sent a picture that is none of PNG, JPEG, WebP and GIF."
    )


def _part(name: str) -> str:
    """Return the name of a folder for an organisation or a person; another one for each."""
    if _PLAIN.fullmatch(name):
        return name
    return f"~{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _add(folder: Path, name: str, data: bytes, most: int) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _make_room(folder, most - len(data))
    unfinished = folder / f"{name}{_UNFINISHED}"
    try:
        with unfinished.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(folder / name)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync(folder)


def _make_room(folder: Path, room: int) -> None:
    """Delete the oldest files until the others fit, and what a killed process left unfinished."""
    kept = []
    for path in folder.iterdir():
        try:
            found = path.stat()
        except FileNotFoundError:  # another process made room, too
            continue
        if path.suffix != _UNFINISHED:
            kept.append((found.st_mtime_ns, found.st_size, path))
        elif time.time() - found.st_mtime > _ABANDONED:
            path.unlink(missing_ok=True)
    size = sum(each for _, each, _ in kept)
    for _, each, path in sorted(kept):
        if size <= room:
            return
        path.unlink(missing_ok=True)
        size -= each


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
