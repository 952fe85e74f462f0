"""The files of a folder, or the objects below a prefix."""

import asyncio
import base64
import os
import shutil
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.storage.object_store import ObjectStore

from heddle_devstack.backup.archive import Row


async def rows(root: Path) -> AsyncIterator[dict[str, Any]]:
    """Yield the files below a folder."""
    for name in sorted(_names(root)):
        path = root / name
        try:
            content, mode = path.read_bytes(), path.stat().st_mode & 0o777
        except FileNotFoundError:  # deleted meanwhile
            continue
        yield {"path": name, "mode": mode, "content": content}


async def add(root: Path, incoming: AsyncIterable[Row]) -> None:
    """Write files as `rows` yields them."""
    async for row in incoming:
        path = root / _inside(row["path"])
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, row["mode"] & 0o777)
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64decode(row["content"]))
            os.fchmod(file.fileno(), row["mode"] & 0o777)
            file.flush()
            os.fsync(file.fileno())


def clear(root: Path) -> None:
    """Remove the files below a folder."""
    for path in root.glob("*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


async def object_rows(objects: ObjectStore, prefix: str) -> AsyncIterator[dict[str, Any]]:
    """Yield the objects below a prefix as if they were private files."""
    keys = sorted(each.key for each in await asyncio.to_thread(objects.all, prefix))
    for key in keys:
        content = await asyncio.to_thread(objects.get, key)
        if content is not None:  # else deleted meanwhile
            yield {"path": key.removeprefix(prefix), "mode": 0o600, "content": content}


async def add_objects(objects: ObjectStore, prefix: str, incoming: AsyncIterable[Row]) -> None:
    """Store objects as `object_rows` yields them."""
    async for row in incoming:
        key = f"{prefix}{_inside(row['path'])}"
        await asyncio.to_thread(objects.put, key, base64.b64decode(row["content"]))


async def clear_objects(objects: ObjectStore, prefix: str) -> None:
    """Remove the objects below a prefix."""
    for each in await asyncio.to_thread(objects.all, prefix):
        await asyncio.to_thread(objects.delete, each.key)


def _names(root: Path) -> Iterator[str]:
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(root).as_posix()


def _inside(name: str) -> PurePosixPath:
    """Return a path that leads into the folder, whatever the archive says."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        raise InvalidRequestError(f"The archive has a file {name[:100]!r}, outside of its folder.")
    return path
