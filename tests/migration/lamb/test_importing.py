"""What an import brings over, on both databases."""

import json
from pathlib import Path

from assistants.database.rows import add_assistant
from heddle_assistants.database.schema import (
    assistants,
    knowledge_bases,
    organizations,
    rubrics,
    users,
)
from heddle_runtime.storage.database.engine import Database
from migration.lamb.lamb_database import NOW, PROVIDERS, filled, legacy_rows
from migration.lamb.running import KEYS, TABLES, everything, rows, run
from sqlalchemy import select, update

LEGACY = len(list(legacy_rows()))


async def test_every_row_is_counted_and_imported(database: Database, tmp_path: Path) -> None:
    report = await run(filled(tmp_path / "lamb_v4.db"), database)

    assert tuple(report.counts) == TABLES
    assert report.counts == {
        "organizations": (2, 2, 0, 0),
        "Creator_users": (4, 4, 0, 0),
        "assistants": (LEGACY + 4, LEGACY + 4, 0, 0),
        "rubrics": (1, 1, 0, 0),
        "kb_registry": (1, 1, 0, 0),
        "assistant_usage_totals": (0, 0, 0, 0),
    }
    assert report.findings.keys() == {"assistants"}
    expected = ("It may answer without a part: LAMB has no ", "Its template has {file}, which stay")
    for finding in report.findings["assistants"].values():
        assert all(note.startswith(expected) for note in finding.notes)


async def test_assistants_keep_their_ids_and_every_byte(database: Database, tmp_path: Path) -> None:
    await run(filled(tmp_path / "lamb_v4.db"), database)

    found = await rows(database, assistants)
    assert {42, 43, 44, 45} <= set(found)
    for row in legacy_rows():
        kept = found[row["id"]]
        for lambs, ours in {"api_callback": "metadata", "RAG_endpoint": "rag_endpoint"}.items():
            assert kept[ours] == row[lambs]
        for name in ("name", "owner", "system_prompt", "prompt_template", "created_at"):
            assert kept[name] == row[name]
        assert (kept["rag_top_k"], kept["rag_collections"]) == (
            row["RAG_Top_k"],
            row["RAG_collections"],
        )
        assert (kept["organization_id"], kept["revision"], kept["title"]) == (1, 1, "")


async def test_new_assistants_get_ids_after_the_imported_ones(
    database: Database, tmp_path: Path
) -> None:
    await run(filled(tmp_path / "lamb_v4.db"), database)

    assert await add_assistant(database, name="new") == 101 + LEGACY


async def test_what_lamb_deleted_is_deleted(database: Database, tmp_path: Path) -> None:
    lamb = filled(tmp_path / "lamb_v4.db")
    deleted = {"owner": "deleted_assistant@owi.com"}
    lamb.add(
        "assistants",
        deleted | {"id": 50, "name": "1_x_deleted_1650000000"},
        deleted | {"id": 51, "name": "1_y"},
    )
    await run(lamb, database)

    found = await rows(database, assistants)
    assert found[50]["deleted_at"] == 1_650_000_000
    assert found[51]["deleted_at"] == NOW
    assert found[42]["deleted_at"] is None


async def test_only_a_consumer_that_is_one_publishes(database: Database, tmp_path: Path) -> None:
    await run(filled(tmp_path / "lamb_v4.db"), database)

    found = await rows(database, assistants)
    names = ("published", "published_at", "oauth_consumer_name", "group_id")
    state = {key: tuple(found[key][name] for name in names) for key in (42, 43, 44, 45)}
    assert state == {
        42: (True, NOW + 5, "course-1", "g"),
        43: (False, None, None, "g"),  # LAMB writes "null"
        44: (False, None, None, "g"),
        45: (False, None, None, None),
    }


async def test_settings_are_sealed_before_they_are_kept(database: Database, tmp_path: Path) -> None:
    await run(filled(tmp_path / "lamb_v4.db"), database)

    found = await rows(database, organizations)
    assert {key: (row["slug"], row["is_system"]) for key, row in found.items()} == {
        1: ("lamb", True),
        7: ("physics", False),
    }
    config = json.loads(found[7]["config"])
    provider = config["setups"]["default"]["providers"]["openai"]
    place = ("physics", "setups", "default", "providers", "openai", "api_key")
    assert KEYS.open(provider.pop("api_key"), place) == PROVIDERS["openai"]["api_key"]
    assert provider.items() < PROVIDERS["openai"].items()
    assert "sk-lambs-own" not in str(await everything(database))


async def test_users_have_the_role_of_their_own_organisation(
    database: Database, tmp_path: Path
) -> None:
    await run(filled(tmp_path / "lamb_v4.db"), database)

    found = await rows(database, users)
    assert {key: (row["email"], row["role"], row["enabled"]) for key, row in found.items()} == {
        1: ("ana@example.org", "creator", True),
        3: ("bo@example.org", "admin", True),
        4: ("cy@example.org", "member", True),
        5: ("di@example.org", "creator", False),
    }


async def test_rubrics_and_knowledge_bases_keep_what_assistants_call_them(
    database: Database, tmp_path: Path
) -> None:
    await run(filled(tmp_path / "lamb_v4.db"), database)

    rubric = (await rows(database, rubrics))[9]
    assert (rubric["rubric_id"], rubric["rubric_data"]) == ("rubric-550e8400", '{"criteria":[]}')
    assert (rubric["is_public"], rubric["is_showcase"]) == (True, False)
    base = (await rows(database, knowledge_bases))[2]
    assert (base["kb_id"], base["name"]) == ("17", "Optics")
    assert (base["owner_email"], base["organization_id"]) == ("bo@example.org", 7)


async def test_a_second_import_changes_nothing(database: Database, tmp_path: Path) -> None:
    lamb = filled(tmp_path / "lamb_v4.db")
    first = await run(lamb, database)
    before = await everything(database)

    second = await run(lamb, database)

    assert await everything(database) == before
    assert {name: told[1] for name, told in second.counts.items()} == dict.fromkeys(TABLES, 0)
    assert {name: told[2] for name, told in second.counts.items()} == {
        name: told[1] for name, told in first.counts.items()
    }


async def test_an_edit_in_heddle_outlives_every_import(database: Database, tmp_path: Path) -> None:
    lamb = filled(tmp_path / "lamb_v4.db")
    await run(lamb, database)
    edit = {"metadata": '{"_format_version": 2}', "name": "other", "owner": "x@example.org"}
    async with database.writing() as connection:
        await connection.execute(update(assistants).where(assistants.c.id == 42).values(edit))
        await connection.execute(update(organizations).values(config='{"edited": true}'))
    before = await everything(database)

    report = await run(lamb, database)

    assert await everything(database) == before
    assert report.findings == {}


async def test_what_lamb_made_since_is_added(database: Database, tmp_path: Path) -> None:
    lamb = filled(tmp_path / "lamb_v4.db")
    await run(lamb, database)
    lamb.add("assistants", {"id": 500, "name": "1_new"})

    report = await run(lamb, database)

    assert report.counts["assistants"] == (LEGACY + 5, 1, LEGACY + 4, 0)
    assert (await rows(database, assistants))[500]["name"] == "1_new"


async def test_a_dry_run_says_the_same_and_writes_nothing(
    database: Database, tmp_path: Path
) -> None:
    lamb = filled(tmp_path / "lamb_v4.db")
    lamb.add("assistants", {"id": 60, "name": "1_a", "organization_id": 99})
    before = await everything(database)

    said = await run(lamb, database, dry_run=True)

    assert await everything(database) == before
    assert said.plain() == (await run(lamb, database)).plain()


async def test_an_import_reads_one_moment_of_a_live_database(
    database: Database, tmp_path: Path
) -> None:
    lamb = filled(tmp_path / "lamb_v4.db")
    with lamb.open() as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE LAMB_assistants SET name = name || '_not_yet'")
        report = await run(lamb, database)
        writer.commit()

    assert report.counts["assistants"] == (LEGACY + 4, LEGACY + 4, 0, 0)
    async with database.reading() as connection:
        names = (await connection.execute(select(assistants.c.name))).scalars().all()
    assert not any(name.endswith("_not_yet") for name in names)
