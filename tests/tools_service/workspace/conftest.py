"""What the tests of the workspace share."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from heddle_tools_service.workspace.engine import Workspace
from tools_service.serving import Client
from tools_service.workspace.areas import SEVEN, workspace_in
from tools_service.workspace.asking import serving_in


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Ana's workspace."""
    return workspace_in(tmp_path)


@pytest.fixture
def seven(workspace: Workspace) -> Path:
    """A file of seven lines in it, `seven.py`."""
    path = workspace.area.root / "ana" / "seven.py"
    path.write_text(SEVEN)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Ana's folder in the service of `client`."""
    folder = tmp_path / "workspaces" / "looms" / "ana@example.org"
    folder.mkdir(parents=True)
    (folder / "seven.py").write_text(SEVEN)
    return folder


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    """A tool service whose workspaces are in the test's folder."""
    async with serving_in(tmp_path) as made:
        yield made
