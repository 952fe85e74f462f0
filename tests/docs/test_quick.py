"""`make quick`: the list of its tests, tests/quick.txt, has some of every member."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEMBERS = sorted(
    {path.name.removeprefix("heddle_") for path in ROOT.glob("**/src/heddle_*") if path.is_dir()}
)
FOLDERS = {"migration_service": "migration"}
"""Folders of tests that are not named after their member."""


@pytest.mark.parametrize("member", MEMBERS)
def test_a_quick_test_uses_each_member(member: str) -> None:
    assert len(MEMBERS) > 9
    listed = (ROOT / "tests/quick.txt").read_text().split()
    folder = f"tests/{FOLDERS.get(member, member)}"
    assert any(Path(path).is_relative_to(folder) for path in listed)


def test_each_listed_file_exists() -> None:
    listed = (ROOT / "tests/quick.txt").read_text().split()
    assert [path for path in listed if not (ROOT / path).exists()] == []
