"""Assistants of LAMB's newest format and their knowledge stores: imported, and asked."""

import json
from pathlib import Path
from typing import Any

import pytest
from heddle_runtime.http.egress import SETTING
from integration.browser import browser
from integration.provider import providing
from integration.whole import whole
from knowledge.store_server import TOKEN, Store, store_server
from migration.lamb.lamb_database import NEWEST, Lamb
from migration_jobs import finished

SECRET = "a-secret-of-at-least-32-characters"
KEYS = {"uni": "sk-uni-0123456789abcdef", "college": "sk-college-0123456789abcdef"}
ENDPOINT = "https://embeddings.example/v1"


def assistant(number: int, organization: int, owner: str, stores: str, **metadata: Any) -> Any:
    callback = {
        "prompt_processor": "simple_augment",
        "connector": "openai",
        "llm": "gpt-4o-mini",
        "rag_processor": "knowledge_store_rag",
    }
    return {
        "id": number,
        "name": f"{number}_newest",
        "organization_id": organization,
        "owner": owner,
        "api_callback": json.dumps(callback | metadata),
        "system_prompt": "You help.",
        "prompt_template": "{context}|{user_input}",
        "RAG_collections": stores,
        "RAG_Top_k": 2,
    }


def filled(path: Path, provider: str) -> Lamb:
    lamb = Lamb(path).make(NEWEST)
    for number, (slug, key) in enumerate(KEYS.items(), start=1):
        openai = {"base_url": provider, "api_key": key, "models": ["gpt-4o-mini"]}
        config = json.dumps({"setups": {"default": {"providers": {"openai": openai}}}})
        lamb.add("organizations", {"id": number, "slug": slug, "config": config})
    lamb.add(
        "Creator_users",
        {"id": 1, "user_email": "ana@example.org", "organization_id": 1},
        {"id": 2, "user_email": "ben@example.org", "organization_id": 1},
        {"id": 3, "user_email": "eve@example.org", "organization_id": 2},
    )
    ana = {"owner_user_id": 1, "organization_id": 1}
    lamb.add(
        "knowledge_stores",
        {"id": "ks-shared", "name": "A", "is_shared": 1, "embedding_endpoint": ENDPOINT, **ana},
        {"id": "ks-private", "name": "B", **ana},
        {"id": "ks-college", "name": "C", "owner_user_id": 3, "organization_id": 2},
    )
    lamb.add(
        "assistants",
        assistant(41, 1, "ana@example.org", "ks-shared,ks-private"),
        assistant(42, 1, "ben@example.org", "ks-shared, ks-private"),
        assistant(43, 2, "eve@example.org", "ks-shared,ks-private,ks-college"),
        assistant(44, 2, "eve@example.org", "ks-shared"),
        assistant(45, 1, "ana@example.org", "ks-shared", rag_processor="query_rewriting_ks_rag"),
    )
    return lamb


async def test_assistants_search_the_stores_of_their_owners_organisation_and_no_others(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = {
        "ks-shared": Store(("Of the university.",), KEYS["uni"], ENDPOINT),
        "ks-private": Store(("Of Ana alone.",), KEYS["uni"]),
        "ks-college": Store(("Of the college.",), KEYS["college"]),
    }
    async with providing() as provider, store_server(**stores) as server:
        lamb = filled(tmp_path / "lamb_v4.db", provider.url)
        for name, value in {
            "HEDDLE_MIGRATION_LAMB_DATABASE": str(lamb.path),
            "HEDDLE_IDENTITY_SECRET": SECRET,
            "HEDDLE_ASSISTANTS_KEY_PEPPER": SECRET,
            "HEDDLE_ASSISTANTS_ENCRYPTION_KEY": SECRET,
            "LAMB_KB_SERVER_V2": server.url,
            "LAMB_KB_SERVER_V2_TOKEN": TOKEN,
            SETTING: "127.0.0.0/8",
        }.items():
            monkeypatch.setenv(name, value)
        async with (
            whole(tmp_path, "grpc", database_url) as running,
            browser(running.url, timeout=30) as client,
        ):
            job = await finished(client, kind="import")
            report = (await client.get(f"/migration/jobs/{job['id']}/report")).json()
            prompts, keys = {}, {}
            for number in (41, 42, 43, 44, 45):
                before = len(server.keys)
                turns = [{"role": "user", "content": "Why?"}]
                body = {"model": f"lamb_assistant.{number}", "messages": turns}
                response = await client.post("/v1/chat/completions", json=body)
                assert response.status_code == 200, response.text
                prompts[number] = json.dumps(provider.bodies[-1]["messages"])
                keys[number] = server.keys[before:]

    texts = {
        number: [
            text in prompt for text in ("Of the university.", "Of Ana alone.", "Of the college.")
        ]
        for number, prompt in prompts.items()
    }
    assert texts == {
        41: [True, True, False],
        42: [True, False, False],
        43: [False, False, True],
        44: [False, False, False],
        45: [True, False, False],
    }
    uni, college = KEYS["uni"], KEYS["college"]
    assert keys == {41: [uni, uni], 42: [uni], 43: [college], 44: [], 45: [uni]}
    assert "knowledge_stores" in {each["table"] for each in report["tables"]}, report
    assert "knowledge_stores" not in {each["table"] for each in report["left_in_lamb"]}
