"""A workspace in a test's folder."""

from pathlib import Path

from heddle_tools_service.capabilities.workspace import Edit, FileEdits, Patched
from heddle_tools_service.workspace.engine import Workspace
from heddle_tools_service.workspace.jail import Jail
from heddle_tools_service.workspace.state import State

# The example of the tool's first manual.
SEVEN = "def func1():\n    pass\n\ndef func2():\n    pass\n\n# comment\n"


def workspace_in(folder: Path) -> Workspace:
    """Return the workspace of Ana, whose files are in `folder/ana`."""
    (folder / "ana").mkdir(parents=True, exist_ok=True)
    return Workspace(Jail(folder, ("ana",)), State(folder / ".state"))


def patched(
    workspace: Workspace, path: str, *edits: Edit, dry_run: bool = False, relocate: bool = False
) -> Patched:
    """Patch one file."""
    files = [FileEdits(path, edits)]
    return workspace.patch(files, waiting, dry_run=dry_run, relocate=relocate)


def waiting() -> bool:
    """Somebody waits."""
    return True


def left_over(folder: Path) -> list[str]:
    """Return what patches that have ended must not leave: temporary files and notes."""
    temporary = [path.name for path in (folder / "ana").rglob(".heddle-*")]
    notes = (folder / ".state" / "journal").glob("*")
    return temporary + [path.name for path in notes if not path.suffix]
