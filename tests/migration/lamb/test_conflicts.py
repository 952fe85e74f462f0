"""What an import meets that Heddle has already: nothing of it is ever overwritten."""

from pathlib import Path

import pytest
from assistants.database.rows import add_assistant, add_organization
from heddle_assistants.database.schema import assistants, organizations, rubrics, users
from heddle_runtime.storage.database.engine import Database
from migration.lamb.lamb_database import Lamb, filled
from migration.lamb.running import everything, rows, run
from sqlalchemy import insert

GIVEN = {"created_at": 1, "updated_at": 1}


async def test_an_id_that_heddle_gave_to_another_assistant_is_refused(
    database: Database, tmp_path: Path
) -> None:
    await add_organization(database)
    await add_assistant(database, id=42, name="made in Heddle", metadata="mine")

    for dry_run in (True, False):
        report = await run(filled_again(tmp_path), database, dry_run=dry_run)
        assert report.counts["assistants"][3] == 1
        error = report.findings["assistants"]["42"].error
        assert (error.code, error.message) == (
            6,
            "Heddle has another row with the id 42, which stays as it is.",
        )
    kept = (await rows(database, assistants))[42]
    assert (kept["name"], kept["metadata"]) == ("made in Heddle", "mine")


def filled_again(folder: Path) -> Lamb:
    path = folder / "lamb_v4.db"
    return Lamb(path) if path.exists() else filled(path)


async def test_an_organisation_of_the_same_slug_is_the_same(
    database: Database, tmp_path: Path
) -> None:
    await add_organization(database)  # takes the id 1
    async with database.writing() as connection:
        values = {"slug": "physics", "name": "Ours", "config": '{"ours": 1}', **GIVEN}
        await connection.execute(insert(organizations).values(values))

    report = await run(filled(tmp_path / "lamb_v4.db"), database)

    found = await rows(database, organizations)
    assert {key: row["slug"] for key, row in found.items()} == {1: "uni", 2: "physics", 3: "lamb"}
    assert (found[2]["name"], found[2]["config"]) == ("Ours", '{"ours": 1}')
    assert "stays as it is" in report.notes("organizations", 7)
    assert "Its id 1 is another organisation's" in report.notes("organizations", 1)
    kept = await rows(database, assistants)
    assert (kept[42]["organization_id"], kept[43]["organization_id"]) == (2, 3)
    before = await everything(database)
    await run(filled_again(tmp_path), database)
    assert await everything(database) == before


@pytest.mark.parametrize(
    ("ours", "expected"), [("{}", "https://lamb"), ('{"prices": {}}', "prices")]
)
async def test_the_default_organisation_takes_settings_only_while_it_has_none(
    database: Database, tmp_path: Path, ours: str, expected: str
) -> None:
    async with database.writing() as connection:
        values = {"id": 0, "slug": "default", "name": "default", "config": ours, **GIVEN}
        await connection.execute(insert(organizations).values(values))
    lamb = Lamb(tmp_path / "lamb_v4.db").make()
    config = '{"kb_server": {"url": "https://lamb.example"}}'
    lamb.add("organizations", {"id": 1, "slug": "default", "config": config})

    for dry_run in (True, False):
        await run(lamb, database, dry_run=dry_run)
        stored = await rows(database, organizations)
        assert (expected in stored[0]["config"]) == (not dry_run or expected in ours)
        assert list(stored) == [0]


async def test_a_new_id_is_not_that_of_another_imported_organisation(
    database: Database, tmp_path: Path
) -> None:
    await add_organization(database)  # takes the id 1
    lamb = Lamb(tmp_path / "lamb_v4.db").make()
    lamb.add("organizations", *({"id": n, "slug": f"org-{n}"} for n in (1, 2, 3)))

    await run(lamb, database)

    found = await rows(database, organizations)
    ids = {row["slug"]: key for key, row in found.items()}
    assert ids == {"uni": 1, "org-2": 2, "org-3": 3, "org-1": 4}


async def test_one_organisation_runs_the_installation(database: Database, tmp_path: Path) -> None:
    async with database.writing() as connection:
        values = {"slug": "ours", "name": "Ours", "is_system": True, **GIVEN}
        await connection.execute(insert(organizations).values(values))

    report = await run(filled(tmp_path / "lamb_v4.db"), database)

    found = await rows(database, organizations)
    assert [row["slug"] for row in found.values() if row["is_system"]] == ["ours"]
    assert "'ours' does" in report.notes("organizations", 1)


async def test_users_and_rubrics_that_heddle_has_stay_as_they_are(
    database: Database, tmp_path: Path
) -> None:
    organization = {"organization_id": await add_organization(database), **GIVEN}
    async with database.writing() as connection:
        for identifier, email in ((3, "other@example.org"), (900, "ana@example.org")):
            values = {"id": identifier, "email": email, "role": "member", **organization}
            await connection.execute(insert(users).values(values))
        values = {"id": 9, "rubric_id": "ours", "owner_email": "o", "title": "t", **organization}
        await connection.execute(insert(rubrics).values(rubric_data="{}", **values))

    report = await run(filled(tmp_path / "lamb_v4.db"), database)

    assert report.counts["Creator_users"] == (4, 2, 0, 2)
    assert report.error("Creator_users", 1).startswith("Heddle has another row with the email")
    assert report.error("Creator_users", 3).startswith("Heddle has another row with the id 3")
    assert (await rows(database, users))[900]["role"] == "member"
    assert (await rows(database, rubrics))[9]["rubric_id"] == "ours"


async def test_a_name_that_heddle_gave_its_owner_already_makes_another_name(
    database: Database, tmp_path: Path
) -> None:
    lamb = filled(tmp_path / "lamb_v4.db")
    await run(lamb, database)
    for number, name in enumerate(("late", "early", "early_2001"), start=3000):
        await add_assistant(database, id=number, name=name, owner="ana@example.org")
    lamb.add("assistants", {"id": 2000, "name": "late"}, {"id": 2001, "name": "early"})

    report = await run(lamb, database)

    found = await rows(database, assistants)
    assert found[2000]["name"] == "late_2000"
    assert 2001 not in found
    assert report.error("assistants", 2001).startswith("Heddle has another row with the name")
