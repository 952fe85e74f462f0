"""Room in memory for files that need not outlast a test.

What is promised to be on disk waits for it, and on a busy disk most of a test's time is that.
"""

import os
import shutil
from pathlib import Path

_ROOM = 2**31


def memory() -> Path | None:
    """Return a folder that is no disk, or None where it is small or runs no programs."""
    folder = Path("/dev/shm")  # noqa: S108 - what is put there has a folder of its own in it
    if not folder.is_dir() or shutil.disk_usage(folder).free < _ROOM:
        return None
    return None if os.statvfs(folder).f_flag & os.ST_NOEXEC else folder
