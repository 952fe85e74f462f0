"""Rows that no program should have written: kept as far as can be, and told of."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from heddle_assistants.database.schema import (
    assistants,
    knowledge_bases,
    organizations,
    rubrics,
    users,
)
from heddle_migration_service.lamb import UNASSIGNED
from heddle_runtime.http.egress import SETTING
from heddle_runtime.storage.database.engine import Database
from migration.lamb.lamb_database import NOW, TODAY, Lamb
from migration.lamb.running import rows, run
from sqlalchemy import update

LOOSE = {
    name: re.sub(r",\s*UNIQUE \([^)]*\)| UNIQUE| NOT NULL", "", columns)
    for name, columns in TODAY.items()
}


@pytest.fixture
def lamb(tmp_path: Path) -> Lamb:
    """A database that checks nothing, with one organisation and one user."""
    lamb = Lamb(tmp_path / "lamb_v4.db").make(LOOSE)
    lamb.add("organizations", {"id": 1, "slug": "lamb"})
    return lamb.add("Creator_users", {"id": 1, "user_email": "ana@example.org"})


async def unassigned(database: Database) -> int:
    records = await rows(database, organizations)
    return next(int(key) for key, row in records.items() if row["slug"] == UNASSIGNED)


async def test_what_belongs_to_no_organisation_is_kept_where_nobody_sees_it(
    database: Database, lamb: Lamb
) -> None:
    lamb.add("assistants", {"id": 1, "name": "a", "organization_id": 99})
    lamb.add("assistants", {"id": 2, "name": "b", "organization_id": None})
    lamb.add("Creator_users", {"id": 2, "user_email": "x@example.org", "organization_id": 99})
    lamb.add("organization_roles", {"organization_id": 99, "user_id": 2, "role": "admin"})
    lamb.add("rubrics", {"id": 1, "rubric_id": "r-1", "rubric_data": "{}", "organization_id": 99})
    lamb.add("kb_registry", {"id": 1, "kb_id": "1", "kb_name": "k", "organization_id": 99})

    report = await run(lamb, database)

    nobodys = await unassigned(database)
    for table in (assistants, rubrics, knowledge_bases):
        records = await rows(database, table)
        assert {row["organization_id"] for row in records.values()} == {nobodys}
    assert (await rows(database, users))[2]["role"] == "creator", "nobody administers it"
    assert "Its organisation 99 is not there" in report.notes("assistants", 1)
    assert "It has no organisation" in report.notes("assistants", 2)
    assert UNASSIGNED in report.notes("Creator_users", 2)
    again = await run(lamb, database)
    assert (again.counts["assistants"], again.findings) == ((2, 0, 2, 0), {})


async def test_values_of_the_wrong_type_are_read_as_what_they_mean(
    database: Database, lamb: Lamb
) -> None:
    lamb.add(
        "assistants",
        {"id": 1, "name": "a", "RAG_Top_k": "3", "organization_id": "1", "created_at": str(NOW)},
        {"id": 2, "name": "b", "RAG_Top_k": "many", "created_at": "2023-11-14 22:13:20"},
        {"id": 3, "name": "c", "RAG_Top_k": 2.5, "created_at": float(NOW)},
        {"id": 4, "name": 5, "RAG_Top_k": None, "RAG_collections": 7},
        {"id": 5, "name": "e", "api_callback": b'{"llm": "blob"}', "system_prompt": None},
    )

    await run(lamb, database)

    records = await rows(database, assistants)
    # SQLite itself makes a number of "3" in a column of numbers.
    assert [records[key]["rag_top_k"] for key in range(1, 6)] == [3, "many", 2.5, None, None]
    assert {row["created_at"] for row in records.values()} == {NOW}
    assert (records[4]["name"], records[4]["rag_collections"]) == ("5", "7")
    assert (records[5]["metadata"], records[5]["system_prompt"]) == ('{"llm": "blob"}', None)
    assert {row["organization_id"] for row in records.values()} == {1}


@pytest.mark.parametrize("nonsense", [None, "yesterday", -5, 10**15, b"\xff"])
async def test_a_time_that_nobody_knows_is_told_and_known_again(
    database: Database, lamb: Lamb, nonsense: object
) -> None:
    lamb.add("assistants", {"id": 1, "name": "a", "created_at": nonsense, "updated_at": nonsense})

    report = await run(lamb, database)

    assert (await rows(database, assistants))[1]["created_at"] == 0
    assert "When it was made is not known." in report.notes("assistants", 1)
    assert (await run(lamb, database)).counts["assistants"] == (1, 0, 1, 0)


async def test_bytes_that_are_no_text_are_replaced_and_told(database: Database, lamb: Lamb) -> None:
    lamb.add("assistants", {"id": 1, "name": "a"})
    with lamb.open() as connection:
        connection.execute(
            "UPDATE LAMB_assistants SET api_callback = CAST(? AS TEXT), description = ?",
            (b'{"llm": "caf\xe9"}', "a\0b"),
        )
        connection.commit()

    report = await run(lamb, database)

    kept = (await rows(database, assistants))[1]
    assert json.loads(kept["metadata"]) == {"llm": "caf\N{REPLACEMENT CHARACTER}"}
    assert kept["description"] == "a\N{REPLACEMENT CHARACTER}b"
    assert "api_callback holds bytes that are no text" in report.notes("assistants", 1)
    assert "description holds bytes" in report.notes("assistants", 1)


async def test_rows_without_a_name_or_an_owner_are_kept(database: Database, lamb: Lamb) -> None:
    lamb.add(
        "assistants",
        {"id": 1, "name": None, "owner": None},
        {"id": 2, "name": "b", "owner": "gone@example.org"},
        {"id": 3, "name": "c", "owner": "deleted_assistant@owi.com"},
    )

    report = await run(lamb, database)

    records = await rows(database, assistants)
    assert (records[1]["name"], records[1]["owner"]) == ("assistant_1", "")
    assert "It had no name." in report.notes("assistants", 1)
    assert "'gone@example.org' is no user" in report.notes("assistants", 2)
    assert "3" not in report.findings["assistants"]


async def test_what_has_no_name_to_be_found_by_is_refused(database: Database, lamb: Lamb) -> None:
    lamb.add("Creator_users", {"id": 2, "user_email": " "})
    lamb.add("rubrics", {"id": 3, "rubric_id": None, "rubric_data": "{}"})
    lamb.add("kb_registry", {"id": 4, "kb_id": "", "kb_name": "k"})
    lamb.add("assistants", {"id": -1, "name": "a"}, {"id": 5, "name": "b"})

    report = await run(lamb, database)

    assert {name: counts[1:] for name, counts in report.counts.items()} == {
        "organizations": (1, 0, 0),
        "Creator_users": (1, 0, 1),
        "assistants": (1, 0, 1),
        "rubrics": (0, 0, 1),
        "kb_registry": (0, 0, 1),
        "assistant_usage_totals": (0, 0, 0),
    }
    assert "no e-mail address" in report.error("Creator_users", 2)
    assert "no whole number from 1 to" in report.error("assistants", -1)


async def test_two_of_one_name_are_both_kept(database: Database, lamb: Lamb) -> None:
    lamb.add("assistants", *({"id": number, "name": "twin"} for number in (1, 2, 700)))
    lamb.add("assistants", *({"id": number, "name": f"x{number}"} for number in range(10, 600)))

    said = await run(lamb, database, dry_run=True)
    report = await run(lamb, database)

    records = await rows(database, assistants)
    assert [records[key]["name"] for key in (1, 2, 700)] == ["twin", "twin_2", "twin_700"]
    assert "has its name" in report.notes("assistants", 2)
    assert report.counts["assistants"] == (593, 593, 0, 0)
    assert said.plain() == report.plain()


async def test_a_second_user_of_one_address_is_refused(database: Database, lamb: Lamb) -> None:
    lamb.add("Creator_users", {"id": 2, "user_email": "ana@example.org"})

    said = await run(lamb, database, dry_run=True)
    report = await run(lamb, database)

    assert report.counts["Creator_users"] == (2, 1, 0, 1)
    assert "has another row with the email" in report.error("Creator_users", 2)
    assert said.plain() == report.plain()


@pytest.mark.parametrize("config", [None, "", "{", "[]", '"text"', b"\xff"])
async def test_settings_that_cannot_be_read_do_not_stop_an_organisation(
    database: Database, lamb: Lamb, config: object
) -> None:
    lamb.add("organizations", {"id": 2, "slug": "odd", "config": config})

    report = await run(lamb, database)

    assert (await rows(database, organizations))[2]["config"] == "{}"
    said = report.notes("organizations", 2) if report.findings else ""
    assert ("no JSON object" in said) is (config not in (None, ""))


async def test_servers_in_private_networks_are_named(database: Database, lamb: Lamb) -> None:
    providers = {
        "openai": {"api_key": "sk-x", "base_url": "http://10.0.0.5:8080/v1"},
        "ollama": {"base_url": "http://ollama:11434"},
    }
    config = json.dumps(
        {
            "setups": {"default": {"providers": providers}},
            "kb_server": {"url": "https://kb.example.org", "token": "t"},
            "moodle": {"url": "http://moodle.lan/", "token": "t"},
        }
    )
    lamb.add(
        "organizations",
        {"id": 2, "slug": "uni", "config": config},
        {"id": 3, "slug": "system", "config": config, "is_system": 1},
    )

    dry = await run(lamb, database, dry_run=True)
    report = await run(lamb, database)

    told = report.notes("organizations", 2)
    assert SETTING in told
    for server in ("openai at 10.0.0.5:8080", "ollama at ollama:11434", "moodle at moodle.lan"):
        assert server in told
    assert "kb.example.org" not in told
    assert list(report.findings["organizations"]) == ["2"]
    assert dry.findings == report.findings
    allowed = await run(lamb, database, allowed="10.0.0.0/8")
    assert "10.0.0.5" not in allowed.notes("organizations", 2)


async def test_slugs_that_heddle_does_not_allow_become_some_that_it_does(
    database: Database, lamb: Lamb
) -> None:
    lamb.add(
        "organizations",
        {"id": 2, "slug": "École d'Été"},
        {"id": 3, "slug": "école d'été"},
        {"id": 4, "slug": None},
        {"id": 5, "slug": "x" * 200},
    )

    report = await run(lamb, database)

    records = await rows(database, organizations)
    slugs = [records[key]["slug"] for key in (2, 3, 4, 5)]
    assert slugs == ["cole-d-t-2", "cole-d-t-3", "organization-4", "x" * 40 + "-5"]
    assert "École d'Été" in report.notes("organizations", 2)
    assert (await run(lamb, database)).counts["organizations"] == (5, 0, 5, 0)


async def test_what_is_shared_in_lamb_is_shared_once(database: Database, lamb: Lamb) -> None:
    lamb.add("assistants", {"id": 1, "name": "a"})
    lamb.add("Creator_users", {"id": 2, "user_email": "Ben@example.org"})
    lamb.add("assistant_shares", {"assistant_id": 1, "shared_with_user_id": 2})
    lamb.add("assistant_shares", {"assistant_id": 8, "shared_with_user_id": 2})

    assert (await run(lamb, database, dry_run=True)).findings.get("assistants", {}) == {}
    report = await run(lamb, database)

    assert report.findings.get("assistants", {}) == {}
    assert "assistant_shares" not in report.left_behind
    assert (await rows(database, assistants))[1]["sharing"] == "use:ben@example.org"
    async with database.writing() as connection:  # as if the import had been interrupted
        await connection.execute(update(assistants).values(sharing=""))
    notes = (await run(lamb, database)).notes("assistants", 1)
    assert notes == "LAMB shares it with 1, and Heddle with nobody. Share it."
    assert (await rows(database, assistants))[1]["sharing"] == ""


async def test_an_owner_of_a_knowledge_base_that_is_gone_is_told(
    database: Database, lamb: Lamb
) -> None:
    lamb.add(
        "kb_registry",
        {"id": 1, "kb_id": "kb_uuid_1", "kb_name": "k", "owner_user_id": 77},
        {"id": 2, "kb_id": "2", "kb_name": "l", "metadata": '{"description": "Notes"}'},
    )

    report = await run(lamb, database)

    records = await rows(database, knowledge_bases)
    assert (records[1]["kb_id"], records[1]["owner_email"]) == ("kb_uuid_1", "")
    assert (records[2]["description"], records[2]["owner_email"]) == ("Notes", "ana@example.org")
    assert "Its owner is no user." in report.notes("kb_registry", 1)


async def test_a_publication_of_an_assistant_that_is_gone_is_told(
    database: Database, lamb: Lamb
) -> None:
    lamb.add("assistants", {"id": 1, "name": "a"})
    lamb.add("assistant_publish", {"assistant_id": 1}, {"assistant_id": 88})

    report = await run(lamb, database)

    assert list(report.findings["assistants"]) == ["88"]
    assert "no such assistant" in report.notes("assistants", 88)
    assert report.counts["assistants"] == (1, 1, 0, 0)


async def test_numbers_beyond_all_ids_stop_no_import(database: Database, lamb: Lamb) -> None:
    lamb.add("kb_registry", {"id": 1, "kb_id": "1", "kb_name": "k", "owner_user_id": 1e300})
    lamb.add("assistants", {"id": 1, "name": "a", "organization_id": 1e300})

    report = await run(lamb, database)

    assert "Its owner is no user." in report.notes("kb_registry", 1)
    assert "It has no organisation" in report.notes("assistants", 1)


@pytest.mark.parametrize("odd", ["\\u0000", "\\ud800"])
async def test_a_description_that_no_row_can_hold_stops_no_import(
    database: Database, lamb: Lamb, odd: str
) -> None:
    text = f'{{"description": "all{odd}"}}'
    lamb.add("kb_registry", {"id": 1, "kb_id": "1", "kb_name": "k", "metadata": text})

    report = await run(lamb, database)

    assert report.counts["kb_registry"] == (1, 1, 0, 0)
    kept = (await rows(database, knowledge_bases))[1]["description"]
    assert kept == "all\N{REPLACEMENT CHARACTER}"


async def test_names_that_no_index_holds_are_refused(database: Database, lamb: Lamb) -> None:
    # PostgreSQL compresses what repeats.
    long = "".join(hashlib.sha256(bytes([number])).hexdigest() for number in range(140))
    lamb.add("Creator_users", {"id": 2, "user_email": f"{long}@example.org"})
    lamb.add(
        "assistants",
        {"id": 1, "name": long},
        {"id": 2, "name": "b", "owner": long},
        {"id": 3, "name": long[:1_000], "owner": long[:1_000]},
        {"id": 4, "name": "d"},
    )
    lamb.add("rubrics", {"id": 3, "rubric_id": "r", "owner_email": long, "rubric_data": "{}"})
    lamb.add("kb_registry", {"id": 4, "kb_id": long, "kb_name": "k"})

    said = await run(lamb, database, dry_run=True)
    report = await run(lamb, database)

    assert {name: counts[1:] for name, counts in report.counts.items()} == {
        "organizations": (1, 0, 0),
        "Creator_users": (1, 0, 1),
        "assistants": (2, 0, 2),
        "rubrics": (0, 0, 1),
        "kb_registry": (0, 0, 1),
        "assistant_usage_totals": (0, 0, 0),
    }
    assert "2,000 bytes" in report.error("assistants", 1)
    assert said.plain() == report.plain()


async def test_metadata_of_version_2_in_any_shape_stops_no_other_assistant(
    database: Database, lamb: Lamb
) -> None:
    search = {"type": "simple_rag", "config": {"collections": [f"c{n}" for n in range(40_000)]}}
    documents: list[dict[str, object]] = [
        {},
        {"tools": {"type": "rubric"}},
        {"tools": ["rubric", None, {}, {"type": "simple_rag"}, {"type": 3, "config": []}]},
        {"tools": [{"type": "rubric", "config": {"rubric_id": "\ud800"}}]},
        {"tools": [search]},
    ]
    for number, document in enumerate(documents, start=1):
        metadata = json.dumps({"_format_version": 2, **document})
        lamb.add("assistants", {"id": number, "name": f"a{number}", "api_callback": metadata})
    lamb.add("assistants", {"id": 9, "name": "infinite", "RAG_Top_k": float("inf")})

    report = await run(lamb, database)

    assert report.counts["assistants"] == (6, 6, 0, 0)
    assert "no rubric '\N{REPLACEMENT CHARACTER}'" in report.notes("assistants", 4)
    assert (await rows(database, assistants))[9]["rag_top_k"] == "inf"
