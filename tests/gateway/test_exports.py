"""Export and import: an assistant goes elsewhere with its tools, without its owner."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from gateway.library import METADATA, TUTOR, Library, library
from gateway.shelves import ON_SHARED_LOOP


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncGenerator[Library]:
    async with library(tmp_path) as running:
        yield running


SECRET = "sk-abcdefghijklmnop0123456789"
LAMBS: dict[str, dict[str, Any]] = {
    "text": {"api_callback": json.dumps(METADATA)},
    "object": {"metadata": METADATA},
    "both": {"metadata": json.dumps(METADATA), "api_callback": "{}"},
    "promoted": {**METADATA, "api_callback": ""},
}


async def test_no_secret_and_no_address_is_exported(shelf: Library) -> None:
    odd = METADATA | {
        "api_key": "whatever",
        "note": f"the key is {SECRET}",
        "by": "eve@uni.example",
        "half": "\ud800",
        "tools": [{"type": "weather", "config": {"token": "t0ken", "max_tokens": 5}}],
        "long": "x" * 50_000 + " " + SECRET,
    }
    number = await shelf.legacy(
        metadata=json.dumps(odd), system_prompt="Ask ana@example.org or help@uni.example."
    )
    for path in (f"/assistants/{number}/export", f"/creator/assistant/export/{number}"):
        response = await shelf["ana"].get(path)
        assert response.status_code == 200, response.text
        for private in ("whatever", SECRET, "ana@example", "eve@uni", "t0ken"):
            assert private not in response.text
        assert response.json()["system_prompt"] == "Ask [redacted] or help@uni.example."
    exported = (await shelf["ana"].get(f"/assistants/{number}/export")).json()
    [simple_rag, weather] = exported["tools"]
    assert simple_rag["type"] == "simple_rag"
    assert weather["config"] == {"max_tokens": 5}
    assert len(exported["extra"]["long"]) > 50_000


async def test_what_cannot_be_changed_cannot_be_exported(shelf: Library) -> None:
    number = await shelf.legacy(published=True)
    assert (await shelf["ben"].get(f"/assistants/{number}")).status_code == 200
    for path in ("/assistants/{}/export", "/creator/assistant/export/{}"):
        forbidden = await shelf["ben"].get(path.format(number))
        missing = await shelf["ben"].get(path.format(424242))
        assert forbidden.status_code == missing.status_code == 404
        assert forbidden.text == missing.text.replace("424242", str(number))


async def test_lambs_export_has_no_number_of_a_creator(shelf: Library) -> None:
    number = await shelf.legacy()
    exported = (await shelf["ana"].get(f"/creator/assistant/export/{number}")).json()
    assert exported["name"] == "tutor"


@pytest.mark.parametrize("form", LAMBS)
@ON_SHARED_LOOP
async def test_what_lamb_exported_is_imported(shared_shelf: Library, form: str) -> None:
    file = {
        "id": 42,
        "name": "7_tutor",
        "owner": "ana@example.org",
        "organization_id": 3,
        "description": None,
        "system_prompt": "You teach.",
        "prompt_template": "{context}{user_input}",
        "RAG_endpoint": "",
        "RAG_Top_k": 4,
        "RAG_collections": "1, 2",
        "published": True,
        "group_id": "g",
        **LAMBS[form],
    }
    response = await shared_shelf["eve"].post("/assistants/import", json=file)
    assert response.status_code == 201, response.text
    brought = response.json()
    assert (brought["name"], brought["owner"]) == ("7_tutor", "eve@example.com")
    assert brought["system_prompt"] == "You teach."
    assert brought["model"] == {"connector": "openai", "model": "gpt-4o-mini"}
    [tool] = brought["tools"]
    assert (tool["type"], tool["config"]["top_k"]) == ("simple_rag", 4)
    assert brought["published"] is False
    assert response.headers["location"] == f"/assistants/{brought['id']}"
    assert (await shared_shelf.stored(int(brought["id"])))["rag_top_k"] == 4


@pytest.mark.parametrize("document", [TUTOR, {"name": "biology", "metadata": METADATA}])
async def test_an_import_takes_the_requested_name(shelf: Library, document: dict[str, Any]) -> None:
    ana = shelf["ana"]
    assert (await ana.post("/assistants/import", json=document)).status_code == 201
    assert (await ana.post("/assistants/import", json=document)).status_code == 409
    other = await ana.post("/assistants/import?name=other", json=document)
    assert other.json()["name"] == "other"


@pytest.mark.parametrize(
    "document",
    [
        "not-json{",
        "[1]",
        "[" * 100_000,
        "{}",
        '{"name": "a", "_format_version": 3, "model": {"connector": "c", "model": "m"}}',
        '{"name": "a", "metadata": 5}',
        '{"name": "a", "metadata": {"_format_version": 9}}',
        '{"name": "a", "description": 5}',
        '{"name": "a", "system_prompt": "\\u0000"}',
        '{"name": "a", "RAG_Top_k": [1]}',
        '{"name": ["a"]}',
    ],
)
@ON_SHARED_LOOP
async def test_what_is_no_assistant_is_rejected(shared_shelf: Library, document: str) -> None:
    response = await shared_shelf["ana"].post("/assistants/import", content=document)
    assert response.status_code in (400, 422), response.text
    assert response.json()["error"]["message"]
