"""Threat 15: an assistant names a rubric, a collection or a file of another user.

The assistant is stored with the foreign identifier, so the refusal happens when it runs.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from gateway.essays import EXAMPLE
from threats.tenants import COLLEAGUE, OWNER, PEOPLE, STRANGER, Tenants, tenants

CONTENT = "magpie-feather-content"
ABSENT_RUBRIC = "550e8400-e29b-41d4-a716-446655440000"


async def things_of_owner(heddle: Tenants) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return the binding of each thing of the owner, and one of an absent thing."""
    content = EXAMPLE | {"title": CONTENT}
    rubric = await heddle.create(OWNER, "/rubrics", json={"public": False, "content": content})
    store = await heddle.create(OWNER, "/v1/vector_stores", json={"name": "looms"})
    upload = {"file": ("shed.md", f"A shed is the gap between threads. {CONTENT}".encode())}
    file = await heddle.create(OWNER, "/v1/files", files=upload, data={"purpose": "assistants"})
    attached = f"/v1/vector_stores/{store}/files"
    await heddle.create(OWNER, attached, json={"file_id": file})

    async with asyncio.timeout(30):
        while (await heddle.request(OWNER, "GET", f"{attached}/{file}")).json()[
            "status"
        ] != "completed":
            await asyncio.sleep(0.02)
    return {
        "rubric": (_tool("rubric", rubric_id=rubric), _tool("rubric", rubric_id=ABSENT_RUBRIC)),
        "collection": (
            _tool("simple_rag", collections=[store]),
            _tool("simple_rag", collections=["vs_" + "0" * 32]),
        ),
        "file": (
            _tool("single_file", file_path=f"{OWNER.subject}/notes.md"),
            _tool("single_file", file_path=f"{OWNER.subject}/absent.md"),
        ),
    }


def _tool(name: str, **config: Any) -> dict[str, Any]:
    return {"type": name, "config": config}


@pytest.mark.exhaustive
async def test_an_assistant_reads_only_what_its_owner_may_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "files" / OWNER.subject / "notes.md"
    notes.parent.mkdir(parents=True)
    notes.write_text(CONTENT)
    async with tenants(tmp_path, monkeypatch) as heddle:
        for kind, (tool, absent) in (await things_of_owner(heddle)).items():
            template: dict[str, Any] = {"prompt_template": "{context}{rubric}{file}|{user_input}"}
            for person in PEOPLE:
                number = await heddle.assistant(person, f"reader_of_{kind}", tool, **template)
                other = await heddle.assistant(person, f"without_{kind}", absent, **template)
                for stream in (False, True):
                    response = await heddle.ask(person, number, stream=stream)
                    missing = await heddle.ask(person, other, stream=stream)
                    seen = CONTENT in response.text
                    assert seen is (person is OWNER), (kind, person.subject, response.text)
                    assert CONTENT not in missing.text
                    if person in (COLLEAGUE, STRANGER):
                        assert response.status_code == missing.status_code, kind
