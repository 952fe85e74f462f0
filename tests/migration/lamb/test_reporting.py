"""What an import reports, on both databases: budgets, missing things, and what stays in LAMB."""

import json
from pathlib import Path
from typing import Any

from heddle_assistants.accounts.model_prices import price_of
from heddle_assistants.database.schema import usage
from heddle_assistants.usage.price_lookup import PriceLookup
from heddle_runtime.storage.database.engine import Database
from migration.lamb.lamb_database import METERED, NOW, Lamb
from migration.lamb.running import KEYS, run
from sqlalchemy import select

NOT_IMPORTED = (
    *("aac_sessions", "assistant_quota_alerts", "assistant_test_evaluations"),
    *("assistant_test_runs", "audit_log"),
    *("collections", "config", "kb_content_links", "libraries", "library_items"),
    *("lti_activity_users", "lti_identity_links", "lti_users", "model_permissions"),
    "usage_logs",
)
"""The tables that LAMB's two versions of June 2026 create and an import leaves there."""
RAG = json.dumps({"connector": "openai", "llm": "gpt-4o-mini", "rag_processor": "simple_rag"})


def metered(path: Path) -> Lamb:
    """Make a database with budgets, and an assistant of each organisation."""
    lamb = Lamb(path).make(METERED)
    providers = {"openai": {"api_key": "sk-x", "models": ["gpt-4o", "gpt-4o-mini"]}}
    config = json.dumps({"setups": {"default": {"providers": providers}}})
    lamb.add("organizations", {"id": 1, "slug": "uni", "config": config})
    lamb.add("Creator_users", {"id": 1, "user_email": "ana@example.org"})
    lamb.add(
        "assistants",
        {"id": 42, "name": "1_a", "api_callback": RAG, "RAG_collections": "17, 18"},
        {"id": 43, "name": "1_b", "prompt_template": r"\frac{a}{b} {user_input}{context}{{name}}"},
    )
    lamb.add("kb_registry", {"kb_id": "17", "kb_name": "Optics"})
    return lamb


async def used(database: Database) -> list[dict[str, Any]]:
    async with database.reading() as connection:
        return [dict(row) for row in (await connection.execute(select(usage))).mappings()]


async def test_usage_before_the_import_counts_for_budgets_once(
    database: Database, tmp_path: Path
) -> None:
    lamb = metered(tmp_path / "lamb_v4.db")
    total = {"prompt_tokens_total": 1000, "completion_tokens_total": 20, "cost_usd_total": 1.25}
    lamb.add("assistant_usage_totals", {"assistant_id": 42, **total}, {"assistant_id": 99, **total})
    lamb.add("usage_logs", *[{"assistant_id": 42}] * 3)

    dry = await run(lamb, database, dry_run=True)
    assert await used(database) == []
    first = await run(lamb, database)
    second = await run(lamb, database)

    for report in (dry, first):
        assert report.counts["assistant_usage_totals"] == (2, 1, 0, 1)
        assert "no such assistant" in report.error("assistant_usage_totals", 99)
    assert second.counts["assistant_usage_totals"] == (2, 0, 1, 1)
    [row] = await used(database)
    assert (row["assistant_id"], row["connector"], row["model"]) == (42, "lamb", "total")
    assert (row["requests"], row["prompt_tokens"], row["completion_tokens"]) == (3, 1000, 20)
    assert row["cost_picos"] == 1_250_000_000_000


async def test_prices_become_those_of_each_organisation(database: Database, tmp_path: Path) -> None:
    lamb = metered(tmp_path / "lamb_v4.db")
    own = json.dumps({"prices": {"openai/gpt-4o": {"input": 1, "output": 2}}})
    lamb.add("organizations", {"id": 2, "slug": "own", "config": own})
    lamb.add(
        "model_pricing",
        {"provider": "openai", "model_name": "gpt-4o", "input_per_1m": 2.5, "output_per_1m": 10.0},
        {"provider": "openai", "model_name": "odd", "input_per_1m": -1, "output_per_1m": 10.0},
    )

    await run(lamb, database)

    lookup = PriceLookup(database, KEYS, {})
    price = price_of(await lookup.of("uni"), "openai", "gpt-4o")
    assert price is not None
    assert (price.input_micros, price.output_micros) == (2_500_000, 10_000_000)
    assert price_of(await lookup.of("uni"), "openai", "odd") is None
    price = price_of(await lookup.of("own"), "openai", "gpt-4o")
    assert price is not None
    assert price.input_micros == 1_000_000


async def test_usage_of_another_assistant_with_the_same_id_is_refused(
    database: Database, tmp_path: Path
) -> None:
    lamb = metered(tmp_path / "lamb_v4.db")
    await run(lamb, database)
    with lamb.open() as connection:
        connection.execute("UPDATE LAMB_assistants SET created_at = ? WHERE id = 42", (NOW - 5,))
        connection.commit()
    lamb.add("assistant_usage_totals", {"assistant_id": 42, "cost_usd_total": 1})

    report = await run(lamb, database)

    assert "is not imported" in report.error("assistant_usage_totals", 42)
    assert await used(database) == []


async def test_each_thing_that_an_assistant_lacks_is_named(
    database: Database, tmp_path: Path
) -> None:
    lamb = metered(tmp_path / "lamb_v4.db")
    rubric = {"rag_processor": "rubric_rag", "rubric_id": "rubric-550e8400-none"}
    lamb.add("assistants", {"id": 44, "name": "1_c", "api_callback": json.dumps(rubric)})
    template = "{moodle_user} {file} {user_input}"
    tools = [{"type": "single_file", "enabled": True, "config": {}}]
    moodle = json.dumps({"prompt_processor": "moodle_augment", "tools": tools})
    filled = {"name": "1_e", "api_callback": moodle, "prompt_template": template}
    lamb.add("assistants", {"id": 46, **filled})
    unlisted = json.dumps({"connector": "openai_tools", "llm": "gpt-5"})
    lamb.add("assistants", {"id": 45, "name": "1_d", "api_callback": unlisted})

    report = await run(lamb, database, dry_run=True)

    assert report.notes("assistants", 42) == (
        "It may answer without a part: LAMB has no collection '18'."
    )
    assert report.notes("assistants", 43) == (
        "Its template has {a}, {b}, {name}, which stay text as in LAMB."
    )
    assert "LAMB has no rubric 'rubric-550e8400-none'" in report.notes("assistants", 44)
    assert "does not list the model 'gpt-5'" in report.notes("assistants", 45)
    assert "46" not in report.findings["assistants"], "Heddle fills all slots of its template"


async def test_budgets_outside_of_assistants_are_named(database: Database, tmp_path: Path) -> None:
    lamb = metered(tmp_path / "lamb_v4.db")
    quota = json.dumps({"quota": {"enabled": True, "cost_limit_usd": 5}})
    lamb.add("assistants", {"id": 44, "name": "1_c", "api_callback": quota})
    lamb.add(
        "assistant_quota_alerts",
        {"assistant_id": 42, "quota_limit_usd": 2.5, "is_blocked": 1},
        {"assistant_id": 44, "quota_limit_usd": 5},
    )

    report = await run(lamb, database, dry_run=True)

    notes = report.notes("assistants", 42)
    assert "LAMB blocks it" in notes
    assert "Its budget of 2.5 US dollars is not in its metadata." in notes
    assert "44" not in report.findings["assistants"]


async def test_what_stays_in_lamb_is_listed_with_its_rows(
    database: Database, tmp_path: Path
) -> None:
    lamb = metered(tmp_path / "lamb_v4.db")
    lamb.add("usage_logs", {"assistant_id": 42}, {"assistant_id": 42})
    lamb.add("audit_log", {"action": "c"})
    with lamb.open() as connection:
        connection.execute("CREATE TABLE LAMB_surprise (a)")
        connection.execute("INSERT INTO LAMB_surprise VALUES (1)")
        connection.execute("CREATE TABLE other (a)")
        connection.execute("INSERT INTO other VALUES (1)")
        connection.commit()

    report = await run(lamb, database, dry_run=True)

    rows = {table: number for table, (number, _) in report.left_behind.items()}
    assert rows == {"usage_logs": 2, "audit_log": 1, "surprise": 1}
    assert "Single requests" in report.left_behind["usage_logs"][1]
    assert report.left_behind["surprise"][1] == "Heddle does not know this table."


async def test_columns_of_a_newer_lamb_are_listed_with_their_values(
    database: Database, tmp_path: Path
) -> None:
    lamb = metered(tmp_path / "lamb_v4.db")
    with lamb.open() as connection:
        connection.execute("ALTER TABLE LAMB_assistants ADD COLUMN theme TEXT")
        connection.execute("ALTER TABLE LAMB_assistants ADD COLUMN empty TEXT")
        connection.execute("UPDATE LAMB_assistants SET theme = 'dark' WHERE id = 42")
        connection.execute("CREATE TABLE old_LAMB_assistants AS SELECT * FROM LAMB_assistants")
        connection.commit()

    report = await run(lamb, database, dry_run=True)

    assert report.left_behind == {"assistants.theme": (1, "Heddle does not know this column.")}


async def test_each_table_that_lamb_creates_is_known(database: Database, tmp_path: Path) -> None:
    lamb = metered(tmp_path / "lamb_v4.db")
    with lamb.open() as connection:
        for table in NOT_IMPORTED:
            connection.execute(f"DROP TABLE IF EXISTS LAMB_{table}")
            connection.execute(f"CREATE TABLE LAMB_{table} AS SELECT 0 AS assistant_id")
        connection.commit()

    report = await run(lamb, database, dry_run=True)

    meanings = {table: meaning for table, (_, meaning) in report.left_behind.items()}
    assert sorted(meanings) == sorted(NOT_IMPORTED)
    assert "Heddle does not know this table." not in meanings.values()
