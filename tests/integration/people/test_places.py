"""The page about personal data names every table that there is; test_erasing looks at folders."""

import re
from pathlib import Path

import asyncpg
import pytest
from assistants.postgres import postgres
from heddle_assistants.people.person_tables import Subject, places_of
from heddle_runtime.identity.people import Person
from integration.people.installation import Installation, fill
from integration.people.personal_data_page import PAGE, UNIQUE, named
from integration.whole import whole


def test_the_page_says_what_erasing_does_with_each_table() -> None:
    rows = PAGE.read_text().partition("## Where personal data are")[2].splitlines()
    treatments = {
        place: row.split("|")[3]
        for row in rows
        if row.startswith("| `")
        for place in re.findall(r"`([^`]+)`", row.split("|")[1])
    }
    words = {1: "deleted", 2: "handed over", 3: "stay|pseudonym"}
    for place in places_of(Subject(Person("a@b.example", "uni"), 1, [1], [], [], "x")):
        assert re.search(words[place.treatment], treatments[place.table.name]), place.table.name


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
    places_in_use = {f"{place}.{UNIQUE.sub('*', name)}" for place, name in rows}
    assert places_in_use - named() == set(), "say on the page what these have of people"
    assert "heddle_knowledge.uploads" in places_in_use
