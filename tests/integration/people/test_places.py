"""The page about personal data names every table and folder that there is."""

import re
from pathlib import Path

import asyncpg
import pytest
from assistants.postgres import postgres
from heddle_assistants.people.places import Subject, places_of
from heddle_runtime.people import Person
from integration.people.installation import Installation, fill
from integration.people.traces import tables
from integration.whole import whole

PAGE = Path(__file__).parents[3] / "docs/guides/personal-data.md"
_UNIQUE = re.compile(r"(?<=_)[0-9a-f]{32}")
FOLDERS_OF_OPERATORS = {"assistants", "plugins", "files", "rubrics"}
INTERNAL = {"sqlite_sequence"}


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
    places_in_use |= {f"knowledge/{each.name}" for each in (folder / "knowledge/uploads").iterdir()}
    for path in (folder / "knowledge").iterdir():
        if path.name != "uploads" and not re.search("-(wal|shm)$", path.name):
            places_in_use.add(f"knowledge/{_UNIQUE.sub('*', path.name)}")
    return places_in_use - FOLDERS_OF_OPERATORS - {"knowledge"}


def test_the_page_says_what_erasing_does_with_each_table() -> None:
    rows = PAGE.read_text().partition("## Where personal data are")[2].splitlines()
    treatments = {
        place: row.split("|")[3]
        for row in rows
        if row.startswith("| `")
        for place in re.findall(r"`([^`]+)`", row.split("|")[1])
    }
    words = {1: "deleted", 2: "handed over", 3: "stay|pseudonym"}
    for place in places_of(Subject(Person("a@b.example", "uni"), 1, [1], [], [])):
        assert re.search(words[place.treatment], treatments[place.table.name]), place.table.name


async def test_each_table_and_folder_of_an_installation_is_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", "a-secret-of-at-least-32-characters")
    async with whole(tmp_path) as running:
        it = Installation(tmp_path, running.url)
        await fill(it, f"sqlite:///{tmp_path}/heddle.db")
        places_in_use = places(tmp_path)
    assert places_in_use - named() == set(), "say on the page what these have of people"
    assert len(places_in_use) > 25


@pytest.mark.exhaustive
async def test_each_table_of_the_knowledge_service_in_postgresql_is_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", "a-secret-of-at-least-32-characters")
    with postgres(wheel="pgserver") as server, server.database() as store:
        monkeypatch.setenv("HEDDLE_KNOWLEDGE_STORE_URL", store)
        async with whole(tmp_path) as running:
            await fill(Installation(tmp_path, running.url), f"sqlite:///{tmp_path}/heddle.db")
            connection = await asyncpg.connect(store)
            rows = await connection.fetch(
                "SELECT table_schema, table_name FROM information_schema.tables "
                "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
            )
            await connection.close()
    places_in_use = {f"{place}.{_UNIQUE.sub('*', name)}" for place, name in rows}
    assert places_in_use - named() == set(), "say on the page what these have of people"
    assert "heddle_knowledge.uploads" in places_in_use
