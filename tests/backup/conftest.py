"""An installation in use, its backup, and a server to restore it into."""

from pathlib import Path

import pytest
from backup.filled import environment, fill, run
from shared_servers import object_server, vector_server

__all__ = ["object_server", "vector_server"]


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installation that does not run any more."""
    folder = tmp_path_factory.mktemp("first")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEDDLE_LOCAL_SECRET_FILE", f"{folder}/identity-secret")
        fill(folder)
    return folder


@pytest.fixture(scope="session")
def archive(first: Path) -> Path:
    """Its backup."""
    path = first / "heddle.tar"
    with pytest.MonkeyPatch.context() as patch:
        run(f"backup {path} --workspaces", environment(first), patch)
    return path
