"""The documentation site, built once for all forks of pytest."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forks import FOLDER

from docs.reference import build


@contextmanager
def building() -> Iterator[None]:
    """Let no other fork build: all builds use the folders that mkdocs.yml names."""
    build.SITE.parent.mkdir(exist_ok=True)
    with build.SITE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the built site."""
    copy = Path(os.environ.get(FOLDER) or tmp_path_factory.getbasetemp()) / "site"
    with building():
        if not copy.exists():
            build.write_pages(build.PAGES)
            build.run(["zensical", "build", "--strict"])
            build.copy_markdown(build.PAGES, build.SITE)
            shutil.copytree(build.SITE, copy)
    return copy
