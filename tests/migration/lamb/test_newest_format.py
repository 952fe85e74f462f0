"""An assistant of LAMB's newest format: imported, asked, edited by LAMB's form, and rolled back."""

import json
from pathlib import Path

import pytest
from heddle_assistants.database.schema import assistants
from heddle_runtime.http.egress import SETTING
from heddle_runtime.storage.database.engine import open_database
from integration.browser import browser
from integration.provider import providing
from integration.whole import whole
from knowledge.kb_server import kb_server
from migration.lamb.lamb_database import Lamb, legacy_rows
from migration.lamb.running import rows
from migration_jobs import finished
from tools_service.library_server import TOKEN, library_server

SECRET = "a-secret-of-at-least-32-characters"
NEWEST = {
    "prompt_processor": "kvcache_augment",
    "connector": "openai",
    "llm": "gpt-4o-mini",
    "rag_processor": "knowledge_store_rag",
    "document_rag": "library_file_rag",
    "library_id": "lib-1",
    "item_id": "item-2",
}
PASSAGE = {"text": "Found.", "score": 0.5, "metadata": {"source_title": "Looms"}}


async def test_an_assistant_of_lambs_newest_format_answers_and_goes_back(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lamb = Lamb(tmp_path / "lamb_v4.db").make()
    original = json.dumps(NEWEST, indent=1)
    async with (
        providing() as provider,
        kb_server() as knowledge,
        library_server({"lib-1/item-2": "# Rules\nOf the loom."}) as library,
    ):
        knowledge.answers = {"ks-1": {"results": [PASSAGE]}}
        openai = {"base_url": provider.url, "api_key": "sk-test", "models": ["gpt-4o-mini"]}
        servers = {"kb_server": {"url": knowledge.url, "token": "kb-token"}}
        config = {"setups": {"default": {"providers": {"openai": openai}}}, **servers}
        lamb.add("organizations", {"id": 1, "slug": "uni", "config": json.dumps(config)})
        lamb.add("Creator_users", {"id": 1, "user_email": "ana@example.org"})
        lamb.add(
            "assistants",
            {
                "id": 42,
                "name": "1_newest",
                "api_callback": original,
                "system_prompt": "You help.",
                "prompt_template": "{context}|{user_input}",
                "RAG_collections": "ks-1",
                "RAG_Top_k": 4,
            },
            *legacy_rows(),
        )
        for name, value in {
            "HEDDLE_MIGRATION_LAMB_DATABASE": str(lamb.path),
            "HEDDLE_IDENTITY_SECRET": SECRET,
            "HEDDLE_ASSISTANTS_KEY_PEPPER": SECRET,
            "HEDDLE_ASSISTANTS_ENCRYPTION_KEY": SECRET,
            "HEDDLE_TOOLS_LIBRARY_URL": library,
            "HEDDLE_TOOLS_LIBRARY_TOKEN": TOKEN,
            SETTING: "127.0.0.0/8",
        }.items():
            monkeypatch.setenv(name, value)
        async with (
            whole(tmp_path, "grpc", database_url) as running,
            browser(running.url, timeout=30) as client,
        ):
            assert (await finished(client, kind="import"))["state"] == "done"
            async with open_database(database_url) as database:
                before = await rows(database, assistants)
            turns = [{"role": "user", "content": "Why?"}]
            body = {"model": "lamb_assistant.42", "messages": turns}
            response = await client.post("/v1/chat/completions", json=body)
            assert response.status_code == 200, response.text
            shown = (await client.get("/creator/assistant/get_assistant/42")).json()
            await finished(client, kind="sweep")
            await finished(client, kind="rollback")
            async with open_database(database_url) as database:
                after = await rows(database, assistants)

    system, question = provider.bodies[-1]["messages"]
    assert system["content"].startswith("\n\n## REFERENCE DOCUMENT\n\n")
    assert "# Rules\nOf the loom.\n\nIMPORTANT: " in system["content"]
    assert system["content"].endswith("\n\nYou help.")
    cited = "\n\n## Available Sources\n\n1. [Looms]() (similarity: 0.500)\n"
    assert question["content"] == f"\n\nFound.{cited}\n\n|\n\nWhy?\n\n"
    metadata = json.loads(shown["metadata"])
    assert {key: metadata[key] for key in NEWEST} == NEWEST
    assert after.keys() == before.keys()
    for number, row in after.items():
        # Meanwhile, the service may empty assistants that were deleted long ago.
        assert row["deleted_at"] or row["metadata"] == before[number]["metadata"]
    assert after[42]["metadata"] == original
