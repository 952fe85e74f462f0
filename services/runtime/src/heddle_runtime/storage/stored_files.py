"""Files that are removed or replaced while a process has them open."""

import os
from pathlib import Path

_Identity = tuple[int, int]


class LostFileError(OSError):
    """A file was removed or replaced. The message is for operators and names the remedy."""


class StoredFiles:
    """Detects that files were removed or replaced after a process opened them.

    A process that keeps such a file open writes to a file that no process can open again. Each
    file is known by its device and inode.
    """

    def __init__(self, *paths: Path) -> None:
        """Remember which files are at `paths`.

        Raises:
            FileNotFoundError: There is no file.
        """
        self._identities = {os.fspath(path): _identity(os.fspath(path)) for path in paths}

    def check(self) -> None:
        """Check that the same files are there. Costs about a microsecond for each file.

        Raises:
            LostFileError: A file was removed or replaced.
        """
        for path, identity in self._identities.items():
            try:
                current = _identity(path)
            except OSError:
                raise LostFileError(
                    f"The file {path} was removed while the service used it. Put it back, for "
                    "example from a backup, and restart the service."
                ) from None
            if current != identity:
                raise LostFileError(
                    f"The file {path} was replaced while the service used it. Restart the service, "
                    "which then uses the new file."
                )


def _identity(path: str) -> _Identity:
    status = os.stat(path)  # noqa: PTH116 - several times for each write; Path is slower
    return status.st_dev, status.st_ino
