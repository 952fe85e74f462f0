"""Loads the OpenMP library that llama.cpp needs on systems that do not have it.

The wheel of the engine links to `libgomp.so.1` and does not carry it, and a minimal Debian has
none. Other wheels carry it under a name of their own (`libgomp-6a29c32d.so.1.0.0`), which the
dynamic linker does not accept as `libgomp.so.1`. The function here loads such a copy under the
standard name. See docs/adr/0008.
"""

import ctypes
import os
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

_NAME = b"libgomp.so.1"
_CARRIER = "zfpy"


def provide_openmp() -> None:
    """Load `libgomp.so.1` into this process: the system's, or the one of an installed wheel.

    Does nothing if neither exists. Importing the engine then fails and names the library.
    """
    try:
        ctypes.CDLL(_NAME.decode(), ctypes.RTLD_GLOBAL)
    except OSError:
        library = _bundled()
        if library is not None:
            _load(_renamed(library))


def _bundled() -> Path | None:
    try:
        members = files(_CARRIER) or []
    except PackageNotFoundError:
        return None
    for member in members:
        if member.name.startswith("libgomp-"):
            return Path(str(member.locate()))
    return None


def _renamed(library: Path) -> bytes:
    """Return the library with the standard name in place of its own, padded to the same length."""
    name = library.name.encode()
    return library.read_bytes().replace(name + b"\0", _NAME.ljust(len(name) + 1, b"\0"))


def _load(library: bytes) -> None:
    # In memory: the file system of a container may be read-only or run no programs.
    descriptor = os.memfd_create(_NAME.decode())
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(library)
        ctypes.CDLL(f"/proc/self/fd/{descriptor}", ctypes.RTLD_GLOBAL)
    finally:
        os.close(descriptor)
