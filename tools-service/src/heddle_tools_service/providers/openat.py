"""Opens files without ever leaving a folder, whatever happens to its links meanwhile.

A path that is checked first and opened then can be swapped in between. Here the kernel resolves
and confines in one step: by `openat2` on Linux, else component by component without links.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Callable
from functools import cache

_OPENAT2 = 437  # the same number on every architecture
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
# Opening a FIFO must not wait for its writer, and a terminal must not become ours.
_FILE = _FLAGS | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = _FLAGS | os.O_DIRECTORY
_TRIES = 16

Opener = Callable[[int, list[str], int], int]
"""Takes a folder's descriptor, the components below it and the flags of `os.open`."""


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_beneath(folder: int, components: list[str]) -> int:
    """Return a descriptor of the file at `components` below the descriptor `folder`.

    Symbolic links are refused. The file can be of any kind; look before reading.

    Raises:
        OSError: As of `os.open`; `ELOOP` for a link, `EXDEV` for a way out.
    """
    return opener()(folder, components, _FILE)


def open_folder_beneath(folder: int, components: list[str]) -> int:
    """Return a descriptor of the folder at `components` below the descriptor `folder`.

    Raises:
        OSError: As of `open_beneath`; `ENOTDIR` for what is no folder.
    """
    return opener()(folder, components or ["."], _FOLDER)


@cache
def opener() -> Opener:
    """Return the best way that this kernel offers."""
    try:
        os.close(_by_kernel(_root(), ["."], _FOLDER))
    except (OSError, AttributeError):  # no such call, or a sandbox that forbids it
        return by_component
    return _by_kernel


def by_component(folder: int, components: list[str], flags: int) -> int:
    """Open one component after the other; a link anywhere on the way is an error."""
    *parents, name = components
    here = os.dup(folder)
    try:
        for parent in parents:
            below = _enter(parent, here)
            os.close(here)
            here = below
        if flags == _FOLDER:
            return _enter(name, here)
        return os.open(name, flags, dir_fd=here)
    finally:
        os.close(here)


def _enter(name: str, folder: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


def _by_kernel(folder: int, components: list[str], flags: int) -> int:
    path = os.fsencode("/".join(components))
    # With O_NOFOLLOW a link in place of a folder would be ENOTDIR, as a file is.
    how = _OpenHow(flags & ~os.O_NOFOLLOW, 0, _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS)
    call = _libc().syscall
    for _ in range(_TRIES):
        descriptor: int = call(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(folder),
            ctypes.c_char_p(path),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if descriptor >= 0:
            return descriptor
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):  # something was renamed on the way: again
            raise OSError(number, os.strerror(number))
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@cache
def _root() -> int:
    return os.open("/", os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
