"""Confines the process that runs a plugin: no files, no network, no other processes, little memory.

The process keeps its modules, its channel to the service, and standard output. It can read the
plugin's folder and Python's libraries.
"""

import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from heddle_tools_service.workers.confinement import landlock, limits, seccomp

_SYSTEM_FILES = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo"),
    *("/etc/localtime", "/etc/ld.so.cache", "/etc/ssl/certs", "/dev/null", "/dev/urandom"),
)


def missing() -> list[str]:
    """Return the kernel's features that are missing to confine a process; empty if none is."""
    lacks = []
    if sys.platform != "linux":
        return ["Linux"]
    if not landlock.version():
        lacks.append("Landlock")
    if not seccomp.is_available():
        lacks.append("seccomp")
    return lacks


def confine(readable: Iterable[Path], memory_bytes: int) -> None:
    """Confine this process, as far as the kernel can. It must have one thread.

    Args:
        readable: Files and folders that the process may read, beside Python's libraries.
        memory_bytes: The memory that it may allocate from now on.

    Raises:
        OSError: The kernel refuses something that it has.
    """
    lacks = missing()
    limits.limit(memory_bytes)
    limits.give_up_privileges()
    if "Landlock" not in lacks:
        landlock.restrict([*_libraries(), *readable])
    if "seccomp" not in lacks:
        seccomp.deny()


def _libraries() -> list[Path]:
    paths = {
        *sys.path,
        *sysconfig.get_paths().values(),
        *_SYSTEM_FILES,
        os.path.realpath(os.__file__),
    }
    return sorted({Path(each) for each in paths if each and os.path.isabs(each)})  # noqa: PTH117 - most are texts
