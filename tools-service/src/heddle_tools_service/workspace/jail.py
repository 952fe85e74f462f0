"""A folder that no path can leave. Each file is opened relative to its parent's descriptor.

A path that is resolved before it is opened could be replaced in between. See
`heddle_tools_service.workspace.openat`.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from heddle_tools_service.workspace.errors import WorkspaceError
from heddle_tools_service.workspace.limits import MAX_FILE_BYTES
from heddle_tools_service.workspace.openat import open_beneath, open_folder_beneath

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PERMISSIONS = 0o777


@dataclass(frozen=True)
class Image:
    """A file as it was read."""

    data: bytes
    mode: int
    """The permission bits."""
    stamp: tuple[int, int, int, int]
    """Device, inode, size and time of the last change: another one is another content."""

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the content, in hexadecimal digits."""
        return sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Jail:
    """A workspace's folder, `names` below `root`. It may not exist yet."""

    root: Path
    names: tuple[str, ...]

    @contextmanager
    def folder(self, components: Sequence[str] = ()) -> Iterator[int]:
        """Yield a descriptor of the folder at `components`.

        Raises:
            OSError: As of `open_folder_beneath`.
        """
        base = os.open(self.root, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        try:
            descriptor = open_folder_beneath(base, [*self.names, *components])
        finally:
            os.close(base)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def missing(self, components: Sequence[str]) -> list[list[str]]:
        """Return the folders on the way to a file's parent that do not exist, outermost first."""
        for length in range(len(components) - 1, -1, -1):
            try:
                with self.folder(components[:length]):
                    return [list(components[:end]) for end in range(length + 1, len(components))]
            except FileNotFoundError:
                if not length:  # the workspace itself is made when it is first written to
                    self.make()
        return [list(components[:end]) for end in range(1, len(components))]

    def make(self) -> None:
        """Make the workspace's folder below the root, for the service alone."""
        here = os.open(self.root, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        try:
            for name in self.names:
                below = _make_folder(here, name, 0o700)
                os.close(here)
                here = below
        finally:
            os.close(here)

    def make_folder(self, components: Sequence[str]) -> None:
        """Make one folder whose parent exists."""
        with self.folder(components[:-1]) as parent:
            os.close(_make_folder(parent, components[-1], 0o777))

    def remove_folder(self, components: Sequence[str]) -> None:
        """Remove a folder if it is there and empty."""
        try:
            with self.folder(components[:-1]) as parent:
                os.rmdir(components[-1], dir_fd=parent)
        except OSError:  # gone, or others use it
            return


def _make_folder(parent: int, name: str, mode: int) -> int:
    try:
        os.mkdir(name, mode, dir_fd=parent)
        os.fsync(parent)
    except FileExistsError:
        pass
    return open_folder_beneath(parent, [name])


def read(parent: int, name: str, path: str) -> Image:
    """Return the file `name` of the folder `parent`.

    Raises:
        OSError: As of `open_beneath`.
        WorkspaceError: It is no regular file with one name, or too large.
    """
    descriptor = open_beneath(parent, [name])
    try:
        about = os.fstat(descriptor)
        _check(about, path)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_FILE_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > MAX_FILE_BYTES:
        raise _too_large(path)
    return Image(data, about.st_mode & _PERMISSIONS, _stamp(about))


def stamp(parent: int, name: str) -> tuple[int, int, int, int] | None:
    """Return the stamp of the file of a name; None if there is none."""
    try:
        return _stamp(os.stat(name, dir_fd=parent, follow_symlinks=False))
    except FileNotFoundError:
        return None


def write(parent: int, name: str, data: bytes, mode: int) -> None:
    """Write a new file to the disk itself.

    Raises:
        OSError: As of `os.open`; `EEXIST` if something has the name.
    """
    descriptor = os.open(name, _NEW, 0o600, dir_fd=parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
    except BaseException:
        os.unlink(name, dir_fd=parent)
        raise


def _stamp(about: os.stat_result) -> tuple[int, int, int, int]:
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def _check(about: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise WorkspaceError("path_denied", f"{path!r} is a folder, not a file.")
    if not stat.S_ISREG(about.st_mode):  # a FIFO or a device may never end
        raise WorkspaceError("path_denied", f"{path!r} is not a regular file.")
    if about.st_nlink > 1:  # its other name may be outside
        raise WorkspaceError("path_denied", f"{path!r} has more than one name (a hard link).")
    if about.st_size > MAX_FILE_BYTES:
        raise _too_large(path)


def _too_large(path: str) -> WorkspaceError:
    return WorkspaceError(
        "not_text", f"{path!r} has more than {MAX_FILE_BYTES:,} bytes: too large for a workspace."
    )
