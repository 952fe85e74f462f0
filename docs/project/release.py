"""Makes a release from a clean working tree: `make release VERSION=0.2.0`. Needs no network.

Sets the version of every member, turns "Unreleased" of the changelog into a section of its own,
stores the contracts that later changes are compared with, commits, and tags `v0.2.0`. Nothing is
pushed.
"""

import argparse
import datetime as dt
import re
import subprocess
import sys
from pathlib import Path

_VERSION = re.compile(r'^version = "(\d+)\.(\d+)\.(\d+)"$', re.MULTILINE)
ROOT = Path(__file__).parents[2]
_UNRELEASED = "## Unreleased\n"


def main() -> None:
    """Release the version of the command line."""
    parser = argparse.ArgumentParser("make release", description=__doc__)
    parser.add_argument("version", help="like 0.2.0; larger than the current version")
    parser.add_argument("--root", type=Path, default=ROOT)
    arguments = parser.parse_args()
    if problem := check(arguments.root, arguments.version):
        sys.exit(problem)
    release(arguments.root, arguments.version)
    sys.stdout.write(f"Tagged v{arguments.version}. To publish it: git push --follow-tags\n")


def current_version(root: Path) -> str:
    """Return the version of all members."""
    current = _VERSION.search((root / "pyproject.toml").read_text())
    assert current, "pyproject.toml has no version"  # noqa: S101 - tests/docs checks it
    return ".".join(current.groups())


def check(root: Path, version: str) -> str | None:
    """Return why `version` cannot be released, or None."""
    current = current_version(root).split(".")
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        return f"{version!r} is no version: use MAJOR.MINOR.PATCH"
    if tuple(map(int, version.split("."))) <= tuple(map(int, current)):
        return f"{version} is not larger than {'.'.join(current)}"
    if _git(root, "status", "--porcelain"):
        return "the working tree has changes: commit them first"
    if _git(root, "tag", "--list", f"v{version}"):
        return f"the tag v{version} exists"
    if not _entries(root):
        return "CHANGELOG.md has no entry under Unreleased"
    return None


def release(root: Path, version: str) -> None:
    """Change the files of `root`, commit them and tag the commit."""
    for project in _projects(root):
        project.write_text(_VERSION.sub(f'version = "{version}"', project.read_text(), count=1))
    lock = root / "uv.lock"
    member = re.compile(
        r'(name = "heddle-[a-z-]+"\nversion = ")[^"]+("\nsource = \{ (?:editable|virtual) = )'
    )
    lock.write_text(member.sub(rf"\g<1>{version}\g<2>", lock.read_text()))
    changelog = root / "CHANGELOG.md"
    today = dt.datetime.now(dt.UTC).date()
    section = f"{_UNRELEASED}\n## {version} ({today})\n"
    changelog.write_text(changelog.read_text().replace(_UNRELEASED, section, 1))
    subprocess.run(  # noqa: S603 - fixed arguments
        [
            Path(sys.executable).with_name("buf"),
            "build",
            "--exclude-source-info",
            "-o",
            "released.binpb",
        ],
        cwd=root / "protos",
        check=True,
    )
    _git(root, "add", "--update")
    _git(root, "commit", "--quiet", "--message", f"Release {version}")
    _git(root, "tag", "--annotate", f"v{version}", "--message", f"Heddle {version}")


def _projects(root: Path) -> list[Path]:
    return [
        root / name
        for name in _git(root, "ls-files", "*pyproject.toml").splitlines()
        if name.count("/") < 3  # noqa: PLR2004 - members are at most two folders deep
    ]


def _entries(root: Path) -> str:
    _, _, after = (root / "CHANGELOG.md").read_text().partition(_UNRELEASED)
    return after.partition("\n## ")[0].strip()


def _git(root: Path, *arguments: str) -> str:
    ran = subprocess.run(  # noqa: S603 - fixed commands
        ["git", *arguments],  # noqa: S607
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout.strip()


if __name__ == "__main__":
    main()
