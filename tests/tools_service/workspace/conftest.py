"""What the tests of the workspace share."""

from pathlib import Path

import pytest
from heddle_tools_service.workspace.engine import Workspace
from tools_service.workspace.areas import workspace_in

# The example of the tool's first manual.
SEVEN = "def func1():\n    pass\n\ndef func2():\n    pass\n\n# comment\n"


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
