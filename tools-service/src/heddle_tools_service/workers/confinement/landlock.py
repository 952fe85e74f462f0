"""Restricts the files that a process may open with Landlock (`man 7 landlock`)."""

import ctypes
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from heddle_tools_service.workers.confinement.libc import check, libc

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on all architectures
_VERSION = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_FOLDER, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
_FILES_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""The number of rights about files, by version."""
_NETWORK = 0b11
_SCOPES = 0b11
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """Return the kernel's version of Landlock; 0 if it has none."""
    known: int = libc().syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)
    return max(0, known)


def restrict(readable: Iterable[Path]) -> None:
    """Let this process read what is in `readable`, and open, create or change nothing else.

    Signals and traces of other processes are denied too, as far as the kernel can. Needs
    `no_new_privs`. Paths that do not exist are ignored.

    Raises:
        OSError: The kernel has no Landlock, or refuses.
    """
    known = version()
    ruleset = _Ruleset(
        (1 << _FILES_BY_VERSION.get(known, max(_FILES_BY_VERSION.values()))) - 1,
        _NETWORK if known >= _NETWORK_SINCE else 0,
        _SCOPES if known >= _SCOPES_SINCE else 0,
    )
    size = 24 if known >= _SCOPES_SINCE else 16 if known >= _NETWORK_SINCE else 8
    rules = check(
        libc().syscall(_CREATE, ctypes.byref(ruleset), ctypes.c_size_t(size), 0), "Landlock"
    )
    try:
        for path in readable:
            with suppress(FileNotFoundError):
                _allow(rules, path)
        check(libc().syscall(_RESTRICT, rules, 0), "Landlock")
    finally:
        os.close(rules)


def _allow(rules: int, path: Path) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        allowed = _READ_FILE | (_READ_FOLDER if path.is_dir() else 0)
        if path == Path(os.devnull):
            allowed |= _WRITE_FILE
        rule = _Beneath(allowed, place)
        check(libc().syscall(_ADD, rules, _PATH_BENEATH, ctypes.byref(rule), 0), "Landlock")
    finally:
        os.close(place)
