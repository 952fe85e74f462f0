"""`/migration/following`, and notes of versions, before the real services."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway.library import Library, library
from migration.following.following import METADATA, small_lamb
from migration.lamb.lamb_database import Lamb

PATH = "/migration/following"


@pytest.fixture
def lamb(tmp_path: Path) -> Lamb:
    folder = tmp_path / "lamb"
    folder.mkdir()
    return small_lamb(folder / "lamb_v4.db")


@pytest.fixture
async def shelf(tmp_path: Path, lamb: Lamb) -> AsyncIterator[Library]:
    """A gateway before services that follow a LAMB."""
    with lamb.open() as connection:
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        async with library(tmp_path, followed=lamb.path) as running:
            yield running


def edit(lamb: Lamb, **columns: Any) -> None:
    names = ", ".join(f"{name} = ?" for name in columns)
    with lamb.open() as connection:
        connection.execute(
            f"UPDATE LAMB_assistants SET {names} WHERE id = 3",  # noqa: S608 - a test's names
            tuple(columns.values()),
        )
        connection.commit()


async def until_prompt(shelf: Library, prompt: str) -> dict[str, Any]:
    end = time.monotonic() + 30
    while True:
        response = await shelf["root"].get("/assistants/3")
        if response.status_code == 200 and response.json()["system_prompt"] == prompt:
            body: dict[str, Any] = response.json()
            return body
        assert time.monotonic() < end, response.text
        await asyncio.sleep(0.02)


async def test_a_gateway_without_lamb_says_that_nothing_is_followed(tmp_path: Path) -> None:
    async with library(tmp_path) as shelf:
        response = await shelf["root"].get(PATH)
        assert response.json() == {
            "following": False,
            "compared": None,
            "changed": None,
            "problem": "",
            "tables": [],
            "notes": [],
        }
        assert (await shelf["head"].get(PATH)).status_code == 403


async def test_operators_see_what_is_followed_and_what_changed_on_both_sides(
    shelf: Library, lamb: Lamb
) -> None:
    root = shelf["root"]
    tutor = await until_prompt(shelf, "Be brief.")
    response = await root.put("/assistants/3", json={**tutor, "system_prompt": "Heddle's"})
    assert response.status_code == 200, response.text
    edit(lamb, system_prompt="LAMB's", api_callback=json.dumps({**METADATA, "llm": "gpt-5"}))
    tutor = await until_prompt(shelf, "LAMB's")
    assert tutor["model"]["model"] == "gpt-5"

    newest, before = (await root.get("/assistants/3/versions")).json()["versions"][:2]
    assert (newest["action"], newest["author"]) == ("follow", None)
    assert newest["changed_fields"] == ["model.model", "system_prompt"]
    assert newest["note"].startswith("Changed in LAMB and in Heddle: system_prompt.")
    assert f"version {before['number']} has" in newest["note"]
    assert before["note"] == ""
    former = (await root.get(f"/assistants/3/versions/{before['number']}")).json()
    assert former["assistant"]["system_prompt"] == "Heddle's"

    status = (await root.get(PATH)).json()
    assert status["following"]
    assert status["problem"] == ""
    rows = {each["name"]: each["rows"] for each in status["tables"]}
    assert rows == {"organizations": 1, "users": 2, "assistants": 1}
    [note] = status["notes"]
    assert (note["table"], note["row_id"], note["note"]) == ("assistants", 3, newest["note"])
