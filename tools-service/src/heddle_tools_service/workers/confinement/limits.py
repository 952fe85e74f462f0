"""Limits the resources of this process, and gives up its privileges."""

import ctypes
import os
import resource
import signal
from contextlib import suppress
from pathlib import Path

from heddle_tools_service.workers.confinement.libc import check, libc

MAX_FILES = 64
_NICENESS = 5
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_MAX_CAPABILITIES = 64
_CAPABILITY_VERSION = 0x20080522


def end_with_parent() -> None:
    """Let the kernel kill this process when the thread that started it ends."""
    libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def give_up_privileges() -> None:
    """Give up all capabilities, for ever. A process without any gives up nothing.

    Raises:
        OSError: The kernel refuses.
    """
    check(libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    for capability in range(_MAX_CAPABILITIES):
        libc().prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails beyond the last one
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    check(libc().capset(header, (ctypes.c_uint32 * 6)()), "capset")
    # Other processes of the same user cannot read or trace it, nor it them.
    libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def limit(memory_bytes: int) -> None:
    """Limit memory, open files and the size of files.

    Args:
        memory_bytes: What the process may allocate beyond what it has now. The stacks of threads
            count, which limits their number.
    """
    for kind, most in (
        (resource.RLIMIT_AS, _address_space() + memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, MAX_FILES),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        with suppress(ValueError):  # the limit is lower already
            resource.setrlimit(kind, (most, most))
    os.nice(_NICENESS)


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
