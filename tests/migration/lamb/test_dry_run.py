"""A dry run over REST names every assistant that will not answer, and why."""

import json
from pathlib import Path
from typing import Any

import pytest
from integration.browser import browser
from integration.whole import whole
from migration.lamb.lamb_database import METERED, Lamb
from migration_jobs import finished

PLAIN = {"prompt_processor": "simple_augment", "connector": "openai", "llm": "m"}
ASSISTANTS: dict[int, dict[str, Any]] = {
    1: PLAIN,
    2: {**PLAIN, "prompt_processor": "context_augment"},
    3: {**PLAIN, "connector": "multiai"},
    4: {**PLAIN, "rag_processor": "owi_rag"},
    5: {**PLAIN, "connector": "openai_tools", "tools": ["weather"]},
}


async def test_a_dry_run_names_every_assistant_that_will_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lamb = Lamb(tmp_path / "lamb_v4.db").make(METERED)
    lamb.add("organizations", {"id": 1, "slug": "uni"})
    lamb.add("Creator_users", {"id": 1, "user_email": "ana@example.org"})
    for number, metadata in ASSISTANTS.items():
        row = {"id": number, "name": f"1_{number}", "api_callback": json.dumps(metadata)}
        lamb.add("assistants", row)
    lamb.add("assistants", {"id": 6, "name": "1_6", "api_callback": "not-json{"})
    lamb.add("audit_log", {"action": "a"})
    monkeypatch.setenv("HEDDLE_MIGRATION_LAMB_DATABASE", str(lamb.path))
    async with whole(tmp_path) as running, browser(running.url) as client:
        job = await finished(client, kind="import", dry_run=True)
        path = f"/migration/jobs/{job['id']}"
        report = await client.get(f"{path}/report")
        await finished(client, kind="import")
        sweep = await finished(client, kind="sweep", dry_run=True)
        swept = await client.get(f"/migration/jobs/{sweep['id']}/report")
        page = await client.get(f"{path}/report", params={"format": "markdown"})

    unusable = {each["id"]: " ".join(each["notes"]) for each in report.json()["will_not_answer"]}
    assert unusable.keys() == {"2", "3", "6"}
    assert "It will not answer: prompt_processor: must be one of " in unusable["2"]
    assert "It will not answer: connector: No connector is named 'multiai'." in unusable["3"]
    again = {each["id"]: " ".join(each["notes"]) for each in swept.json()["will_not_answer"]}
    assert again.keys() == {"2", "3"}
    assert unusable["2"].split(".")[0] in again["2"]
    assert [each["id"] for each in swept.json()["refused"]] == ["6"]
    incomplete = {each["id"]: " ".join(each["notes"]) for each in report.json()["may_lack_a_part"]}
    assert incomplete.keys() == {"4"}
    assert "tools[0].type" in incomplete["4"]
    assert report.json()["left_in_lamb"][0]["table"] == "audit_log"
    assert page.headers["content-type"].startswith("text/markdown")
    assert "## Assistants that will not answer\n\n- 2 " in page.text
    assert r"| audit\_log | 1 |" in page.text
