"""The code of the version before the newest revision of the tables, out of the history."""

import os
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

ROOT = Path(__file__).parents[3]
REVISIONS = "services/assistants/src/heddle_assistants/database/revisions/versions"
NEWEST = max((ROOT / REVISIONS).glob("r*.py")).name
FORMER_REVISION = f"{int(NEWEST[1:5]) - 1:04}"


@cache
def earlier_commit() -> str:
    """Return the commit before the one that added the newest revision."""
    added = _git("log", "--diff-filter=A", "--format=%H", "-1", "--", f"{REVISIONS}/{NEWEST}")
    assert added, f"{NEWEST} is not committed, or the history is not complete"
    return _git("rev-parse", f"{added}^")


def install(folder: Path) -> str:
    """Put the earlier code into a folder, and return the PYTHONPATH that runs it."""
    with TemporaryFile() as archive:
        subprocess.run(  # noqa: S603 - a fixed command
            ["git", "archive", earlier_commit(), "services", "gateway", "protos/gen"],  # noqa: S607
            cwd=ROOT,
            stdout=archive,
            check=True,
        )
        archive.seek(0)
        with tarfile.open(fileobj=archive) as files:
            files.extractall(folder, filter="data")
    assert not (folder / REVISIONS / NEWEST).exists()
    assert (folder / REVISIONS).is_dir()
    places = [*folder.glob("services/*/src"), folder / "gateway/src", folder / "protos/gen"]
    return os.pathsep.join(map(str, places))


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - fixed commands
    return result.stdout.strip()
