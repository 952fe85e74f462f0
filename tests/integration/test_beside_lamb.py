"""Heddle in front of a LAMB whose database it follows: models, edits, trials and rights."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from integration.browser import browser
from integration.whole import whole
from lamb_stand_in.school import ANN, BEN, BENS, CRITERION, EVE, GONE, HIDDEN, TUTOR, WEIRD, school
from lamb_stand_in.server import PASSWORD, Lamb, lamb

KEY = "lamb_key_of_the_operator"
NOTES = "A heddle holds one warp thread."
EVERYTHING = "{context}\n{rubric}\nQuestion: {user_input}"


@dataclass(frozen=True)
class Sides:
    """Both servers."""

    lamb: Lamb
    url: str
    """Of Heddle."""

    def at(self, url: str = "", key: str = KEY) -> httpx.AsyncClient:
        """Return a client of Heddle, or of another server."""
        return browser(url or self.url, key)

    @asynccontextmanager
    async def user(self, email: str = ANN) -> AsyncGenerator[httpx.AsyncClient]:
        """Yield a client of Heddle that has logged in to LAMB through it."""
        async with self.at(key="") as client:
            form = {"email": email, "password": PASSWORD}
            login = (await client.post("/creator/login", data=form)).json()
        async with self.at(key=login["data"]["token"]) as client:
            yield client


@asynccontextmanager
async def beside(folder: Path, **gateway: Any) -> AsyncGenerator[Sides]:
    """Yield a Heddle in front of a LAMB with a database, whose rows it has read."""
    tables = school(folder / "lamb_v4.db")
    settings = {"development": False, "api_key": KEY, **gateway}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEDDLE_IDENTITY_SECRET", "a-secret-of-the-services-of-a-test")
        async with (
            lamb(database=tables.path) as behind,
            whole(
                folder, lamb_url=behind.url, lamb_database=tables.path, follows=True, **settings
            ) as running,
        ):
            sides = Sides(behind, running.url)
            async with sides.at() as operator:
                await until(operator, "/v1/models", lambda body: len(body["data"]) == 4)
                await until(operator, "/rubrics", lambda body: len(body["rubrics"]) == 1)
            yield sides


@pytest.fixture
async def sides(tmp_path: Path) -> AsyncIterator[Sides]:
    async with beside(tmp_path, lamb_chats="heddle") as running:
        yield running


async def until(
    client: httpx.AsyncClient, path: str, holds: Callable[[Any], object]
) -> dict[str, Any]:
    """Wait until what a route returns fulfils a condition, and return it."""
    body: Any = None
    async with asyncio.timeout(30):
        while not (body and holds(body)):
            response = await client.get(path)
            body = response.json() if response.is_success else None
            await asyncio.sleep(0.02)
    return dict(body)


async def names(client: httpx.AsyncClient) -> dict[str, str]:
    """Return what a server calls its models, by their identifiers."""
    listed = (await client.get("/v1/models")).json()["data"]
    return {each["id"]: each.get("name", "") for each in listed}


@pytest.mark.exhaustive
async def test_the_models_are_those_of_lamb_also_after_publications_and_deletions(
    sides: Sides,
) -> None:
    async with (
        sides.at() as heddle,
        sides.at(sides.lamb.url, key="") as directly,
        sides.user() as ann,
    ):
        assert list(await names(heddle)) == list(await names(directly))
        await ann.delete(f"/creator/assistant/delete_assistant/{GONE}")
        hidden = f"/creator/assistant/publish/{HIDDEN}"
        await ann.put(hidden, json={"publish_status": True})
        weaver = f"/creator/assistant/publish/{TUTOR}"
        await ann.put(weaver, json={"publish_status": False})
        before = await names(directly)
        assert list(before) == [f"lamb_assistant.{it}" for it in (WEIRD, BENS, HIDDEN)]
        listed = await until(
            heddle,
            "/v1/models",
            lambda body: [each["id"] for each in body["data"]] == list(before),
        )
        # LAMB sends no names: Heddle adds those under which LAMB published the assistants.
        rows = {f"lamb_assistant.{row['id']}": row["name"] for row in sides.lamb.rows.published()}
        assert {each["id"]: each["name"] for each in listed["data"]} == rows
        single = (await heddle.get(f"/v1/models/lamb_assistant.{WEIRD}")).json()
        assert (single["id"], single["name"]) == (f"lamb_assistant.{WEIRD}", "3_Ull-de-bou_")


async def test_both_tools_stay_and_fill_the_prompt_after_an_edit_in_lambs_form(
    sides: Sides,
) -> None:
    async with sides.user() as ann:
        uploaded = await ann.post(
            "/creator/files/upload", files={"file": ("notes.md", NOTES.encode())}
        )
        file = uploaded.json()["path"]
        stored = await ann.get(f"/assistants/{TUTOR}")
        rubric = {"type": "rubric", "slot": "rubric", "config": {"rubric_id": "rubric-of-the-loom"}}
        body = {**stored.json(), "tools": [rubric]}
        saved = await ann.put(
            f"/assistants/{TUTOR}", json=body, headers={"if-match": stored.headers["etag"]}
        )
        assert saved.status_code == 200, saved.text
        form = (await ann.get(f"/creator/assistant/get_assistant/{TUTOR}")).json()
        metadata = {**json.loads(form["metadata"]), "file_path": file}
        metadata["rag_processor"] = "single_file_rag"
        edited = {"name": form["name"], "prompt_template": EVERYTHING, "metadata": metadata}
        response = await ann.put(f"/creator/assistant/update_assistant/{TUTOR}", json=edited)
        assert response.status_code == 200, response.text
        both = await until(ann, f"/assistants/{TUTOR}", lambda it: len(it["tools"]) == 2)
        assert {each["type"] for each in both["tools"]} == {"rubric", "single_file"}
        assert "tools" not in json.loads(sides.lamb.rows.assistant(TUTOR)["api_callback"])  # type: ignore[index] # it is there
        answer = await chat(ann, TUTOR)
    assert NOTES in answer
    assert CRITERION in answer
    assert re.search(r"Question: \s*Why\?", answer)


async def chat(client: httpx.AsyncClient, assistant: int, **members: Any) -> str:
    """Return the answer of a trial on LAMB's pages, empty if it is refused."""
    body = {"messages": [{"role": "user", "content": "Why?"}], **members}
    response = await client.post(f"/creator/assistant/{assistant}/chat/completions", json=body)
    if not response.is_success:
        assert response.json()["detail"]
        return ""
    return str(response.json()["choices"][0]["message"]["content"])


@pytest.mark.exhaustive
async def test_a_trial_on_lambs_pages_has_the_rights_of_the_user_in_heddle(sides: Sides) -> None:
    async with sides.user() as ann, sides.user(BEN) as ben, sides.user(EVE) as eve:
        assert "Why?" in await chat(ann, TUTOR)
        assert "Why?" in await chat(ann, HIDDEN)
        assert "Why?" in await chat(ben, TUTOR), "it is published"
        assert await chat(ben, HIDDEN) == "", "it is not"
        assert await chat(eve, TUTOR) == "", "it is of another organisation"
    async with sides.at(key="not.a.token") as stranger:
        assert await chat(stranger, TUTOR) == ""
    assert sides.lamb.rows.chats() == []


async def test_members_of_lambs_chats_are_not_passed_to_a_provider(sides: Sides) -> None:
    async with sides.user() as ann:
        members = {"chat_id": "one", "persist_chat": False, "debug_bypass": True}
        assert "Why?" in await chat(ann, TUTOR, **members)
        unknown = await chat(ann, TUTOR, **members, top_logprobs=2)
        assert "Why?" in unknown


async def test_by_default_lamb_answers_trials_and_stores_them(tmp_path: Path) -> None:
    async with beside(tmp_path) as sides, sides.user() as ann:
        body = {"messages": [{"role": "user", "content": "Why?"}], "stream": True}
        path = f"/creator/assistant/{TUTOR}/chat/completions"
        response = await ann.post(path, json=body)
        assert response.headers["x-chat-id"]
        assert "data: [DONE]" in response.text
        whole_answer = await ann.post(path, json={**body, "stream": False})
        assert whole_answer.json()["chat_id"] != response.headers["x-chat-id"]
        chats = sides.lamb.rows.chats()
        assert [messages[0]["content"] for messages in chats] == ["Why?", "Why?"]


async def test_a_field_that_changed_on_both_sides_has_a_note_that_names_it(sides: Sides) -> None:
    async with sides.user() as ann:
        stored = await ann.get(f"/assistants/{TUTOR}")
        mine = {**stored.json(), "system_prompt": "Heddle's"}
        await ann.put(f"/assistants/{TUTOR}", json=mine)
        form = (await ann.get(f"/creator/assistant/get_assistant/{TUTOR}")).json()
        edited = {"name": form["name"], "metadata": form["metadata"], "system_prompt": "LAMB's"}
        await ann.put(f"/creator/assistant/update_assistant/{TUTOR}", json=edited)
        await until(
            ann,
            f"/assistants/{TUTOR}",
            lambda body: body["system_prompt"] == edited["system_prompt"],
        )
        newest = (await ann.get(f"/assistants/{TUTOR}/versions")).json()["versions"][0]
    assert newest["note"].startswith("Changed in LAMB and in Heddle: system_prompt.")
