"""LAMB's registry of knowledge stores, imported."""

import json
from pathlib import Path
from typing import Any

import pytest
from heddle_assistants.database.schema import knowledge_stores
from heddle_migration_service.lamb.knowledge_stores import store_number
from heddle_runtime.storage.database.engine import Database
from migration.lamb.lamb_database import NEWEST, NOW, PROVIDERS, Lamb
from migration.lamb.running import Report, everything, rows, run

PHYSICS = "0f8fad5b-d9cb-469f-a165-70867728950e"
ARTS = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


def lamb_with(path: Path, *stores: dict[str, Any], config: Any = None) -> Lamb:
    settings = {"setups": {"default": {"providers": PROVIDERS}}} if config is None else config
    lamb = Lamb(path).make(NEWEST)
    lamb.add("organizations", {"id": 7, "slug": "uni", "config": json.dumps(settings)})
    lamb.add("Creator_users", {"id": 3, "user_email": "Bo@example.org", "organization_id": 7})
    common = {"owner_user_id": 3, "organization_id": 7}
    return lamb.add("knowledge_stores", *(common | each for each in stores))


def notes(report: Report, store_id: str) -> str:
    number = store_number(store_id.encode())
    return report.notes("knowledge_stores", number or 0)


async def test_a_store_keeps_its_identifier_owner_share_and_provider(
    database: Database, tmp_path: Path
) -> None:
    lamb = lamb_with(
        tmp_path / "lamb_v4.db",
        {"id": PHYSICS, "name": "Physics", "is_shared": 1, "description": "Of light."},
        {
            "id": ARTS,
            "name": "Arts",
            "embedding_vendor": "ollama",
            "embedding_model": "nomic",
            "embedding_endpoint": "http://ollama:11434",
        },
    )
    report = await run(lamb, database)

    stored = {row["store_id"]: row for row in (await rows(database, knowledge_stores)).values()}
    physics, arts = stored[PHYSICS], stored[ARTS]
    assert (physics["name"], physics["owner_email"], physics["organization_id"]) == (
        *("Physics", "bo@example.org"),
        7,
    )
    assert (physics["is_shared"], physics["description"]) == (True, "Of light.")
    assert (physics["embedding_vendor"], physics["embedding_endpoint"]) == ("openai", "")
    assert (arts["is_shared"], arts["created_at"]) == (False, NOW)
    assert (arts["embedding_vendor"], arts["embedding_model"]) == ("ollama", "nomic")
    assert arts["embedding_endpoint"] == "http://ollama:11434"
    assert report.counts["knowledge_stores"] == (2, 2, 0, 0)
    assert "knowledge_stores" not in report.left_behind
    assert "knowledge_stores" not in report.findings


async def test_a_second_import_leaves_stores_as_they_are(
    database: Database, tmp_path: Path
) -> None:
    lamb = lamb_with(tmp_path / "lamb_v4.db", {"id": PHYSICS, "name": "Physics"})
    await run(lamb, database)
    before = await everything(database)
    assert (await run(lamb, database)).counts["knowledge_stores"] == (1, 0, 1, 0)
    assert await everything(database) == before


@pytest.mark.parametrize(
    "config",
    [
        {"setups": {"default": {"providers": {"ollama": {"api_key": "sk"}}}}},
        {"setups": {"default": {"providers": {"openai": {"api_key": ""}}}}},
        {"setups": []},
    ],
)
async def test_a_dry_run_names_the_key_that_searches_will_miss(
    database: Database, tmp_path: Path, config: Any
) -> None:
    store = {"id": PHYSICS, "name": "Physics"}
    lamb = lamb_with(tmp_path / "lamb_v4.db", store, config=config)
    report = await run(lamb, database, dry_run=True)

    assert "no key of 'openai'" in notes(report, PHYSICS)
    assert "set providers.openai.api_key" in notes(report, PHYSICS)
    [finding] = report.findings["knowledge_stores"].values()
    assert finding.name == f"Physics ({PHYSICS})"
    assert await rows(database, knowledge_stores) == {}


async def test_what_is_wrong_with_a_store_is_reported(database: Database, tmp_path: Path) -> None:
    lamb = lamb_with(
        tmp_path / "lamb_v4.db",
        {"id": PHYSICS, "name": "Physics", "owner_user_id": 99, "organization_id": 99},
        {"id": "", "name": "Nameless"},
    )
    report = await run(lamb, database)

    assert report.counts["knowledge_stores"] == (2, 1, 0, 1)
    assert "Its owner is no user." in notes(report, PHYSICS)
    assert "Its organisation 99 is not there" in notes(report, PHYSICS)
    assert "It has no id" in report.error("knowledge_stores", 0)


async def test_a_lamb_without_the_table_reports_no_such_rows(
    database: Database, tmp_path: Path
) -> None:
    report = await run(Lamb(tmp_path / "lamb_v4.db").make(), database)
    assert "knowledge_stores" not in report.counts


def test_the_number_of_a_store_is_one_that_browsers_count_exactly() -> None:
    numbers = {store_number(f"store-{each}".encode()) for each in range(10_000)}
    assert len(numbers) == 10_000
    assert all(number and 0 < number < 2**53 for number in numbers)
    assert store_number(b"") is store_number(None) is None
