"""The page about personal data, and the places that an installation has."""

import re
from pathlib import Path

from integration.people.traces import tables

PAGE = Path(__file__).parents[3] / "docs/guides/personal-data.md"
UNIQUE = re.compile(r"(?<=_)[0-9a-f]{32}")
FOLDERS_OF_OPERATORS = {"assistants", "plugins", "files", "rubrics"}
INTERNAL = {"sqlite_sequence", "setup"}


def named() -> set[str]:
    """Return the places that the page names."""
    text = PAGE.read_text().partition("## Where personal data are")[2]
    return set(re.findall(r"`([^`]+)`", text.partition("Outside of Heddle's reach")[0]))


def places(folder: Path) -> set[str]:
    """Return the tables of the database, and the folders and files that the services made."""
    places_in_use = {*tables(folder / "heddle.db")} - INTERNAL
    places_in_use |= {
        each.name for each in folder.iterdir() if not each.name.startswith("heddle.db")
    }
    for path in (folder / "knowledge").iterdir():
        if not re.search("-(wal|shm)$", path.name):
            places_in_use.add(f"knowledge/{UNIQUE.sub('*', path.name)}")
    return places_in_use - FOLDERS_OF_OPERATORS - {"knowledge"}
