"""Opens files below a folder, without symbolic links, whatever other processes rename meanwhile.

A path that is checked before it is opened can be exchanged in between. Here each component is
opened relative to the descriptor of its parent, so no name is resolved twice.
"""

import errno
import os
import stat

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
# Opening a FIFO must not wait for its writer, and a terminal must not become the service's.
_FILE = _FLAGS | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = _FLAGS | os.O_DIRECTORY


def open_beneath(folder: int, components: list[str]) -> int:
    """Return a descriptor of the file at `components` below the descriptor `folder`.

    The caller excludes `..` from the components. The file can be of any kind; look before reading.

    Raises:
        OSError: As of `os.open`; `ELOOP` for a symbolic link.
    """
    *parents, name = components
    parent = open_folder_beneath(folder, parents)
    try:
        return os.open(name, _FILE, dir_fd=parent)
    finally:
        os.close(parent)


def open_folder_beneath(folder: int, components: list[str]) -> int:
    """Return a descriptor of the folder at `components` below the descriptor `folder`.

    Raises:
        OSError: As of `open_beneath`; `ENOTDIR` for a file.
    """
    here = os.dup(folder)
    for name in components:
        try:
            below = _enter(name, here)
        finally:
            os.close(here)
        here = below
    return here


def _enter(name: str, folder: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
