"""A small disk that tests fill: a tmpfs, which only root can mount."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
_BALLAST = "ballast"


@dataclass(frozen=True)
class SmallDisk:
    """A mounted disk."""

    folder: Path

    def fill(self) -> None:
        """Leave no space."""
        with (self.folder / _BALLAST).open("ab", buffering=0) as file:
            size = 1 << 20
            while size:
                try:
                    file.write(b"\0" * size)
                except OSError:
                    size //= 2

    def free(self) -> None:
        """Give back what `fill` took."""
        (self.folder / _BALLAST).unlink()


@contextmanager
def small_disk(folder: Path, megabytes: int = 32) -> Iterator[SmallDisk]:
    """Mount a disk at `folder`, which is made."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(folder)]
    subprocess.run(["mount", *options], check=True)  # noqa: S603, S607 - fixed arguments
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S603, S607 - as above
