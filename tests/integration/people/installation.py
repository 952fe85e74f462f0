"""A Heddle with a person who has something in every place that stores data of people."""

import asyncio
import secrets
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from connector.gemini import PNG
from gateway.essays import EXAMPLE
from heddle_assistants.database import schema
from heddle_connector.generation.generated_images import GeneratedImages
from heddle_devstack import Stack
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import open_database
from heddle_tools_service.capabilities.workspace import Area, Edit, FileEdits
from heddle_tools_service.providers.workspaces import CallersWorkspace
from heddle_tools_service.sdk import Caller
from heddle_tools_service.threads import Threads
from integration.browser import browser
from sqlalchemy import insert

MODEL = {"connector": "bypass", "model": "simple-bypass"}
BEA = "bea@uni.example"


@dataclass
class Installation:
    """What the test made."""

    folder: Path
    url: str
    stack: Stack | None = None
    canary: str = field(default_factory=lambda: f"kanari{secrets.token_hex(8)}")
    """A word that everything of the person has."""
    key: str = ""
    bea_key: str = ""
    assistant: str = ""
    bea_assistant: str = ""
    lecture: str = ""
    shared_store: str = ""
    private_store: str = ""

    @property
    def email(self) -> str:
        """The person."""
        return f"ana.{self.canary}@uni.example"

    def client(self, key: str = "") -> httpx.AsyncClient:
        """Return a client of the operator, or of a key."""
        return browser(self.url, key, timeout=120)


async def fill(it: Installation, database: str) -> None:
    """Let the person, and a colleague, use everything."""
    async with it.client() as operator:
        await _put(operator, "/organizations/uni", {"name": "University"})
        name = f"Ana {it.canary}"
        of_bea = {"name": "Bea", "role": "creator"}
        for email, body in ((it.email, {"name": name, "role": "admin"}), (BEA, of_bea)):
            await _put(operator, f"/organizations/uni/users/{email}", body)
        path = f"/organizations/uni/users/{it.email}/password"
        await _post(operator, path, {"password": f"{it.canary}-Pa55"})
        scopes = ["organization_admin"]  # so that she can change collections of others
        it.key = await _key(operator, it.email, f"laptop {it.canary}", scopes)
        it.bea_key = await _key(operator, BEA, "laptop")
    async with it.client() as nobody:
        body = {"email": it.email, "password": f"{it.canary}-Pa55", "organization": "uni"}
        await _post(nobody, "/login", body)
    async with it.client(it.key) as ana, it.client(it.bea_key) as bea:
        await _assistants(it, ana, bea)
        await _knowledge(it, ana, bea)
    await _files(it)
    await _rows(it, database)


async def _assistants(it: Installation, ana: httpx.AsyncClient, bea: httpx.AsyncClient) -> None:
    own = {"name": f"tutor_{it.canary}", "system_prompt": f"Be {it.canary}.", "model": MODEL}
    it.assistant = (await _post(ana, "/assistants", own))["id"]
    await _put(ana, f"/assistants/{it.assistant}", own | {"description": f"For {it.canary}"})
    question = {"title": it.canary, "text": f"Who is {it.canary}?"}
    await _put(ana, f"/assistants/{it.assistant}/questions", {"questions": [question]})
    message = {"role": "user", "content": f"I am {it.canary}."}
    body = {"model": f"lamb_assistant.{it.assistant}", "messages": [message]}
    await _post(ana, "/v1/chat/completions", body)
    conversation = await _post(ana, "/v1/conversations", {"title": it.canary})
    body = {"model": body["model"], "input": f"I am {it.canary}."}
    await _post(ana, "/v1/responses", body | {"conversation": conversation["id"]})
    gone = await _post(ana, "/assistants", own | {"name": f"gone_{it.canary}"})
    response = await ana.delete(f"/assistants/{gone['id']}")
    assert response.is_success, response.text
    await _post(ana, "/rubrics", {"content": {**EXAMPLE, "title": f"Rubric {it.canary}"}})
    await _post(ana, "/prompts", {"title": it.canary, "system_prompt": f"Be {it.canary}."})
    of_bea = await _post(bea, "/assistants", {"name": "helper", "model": MODEL})
    it.bea_assistant = of_bea["id"]
    path = f"/assistants/{it.bea_assistant}"
    await _put(bea, f"{path}/sharing", {"visibility": "private", "users_who_may_edit": [it.email]})
    await _put(ana, path, {"name": "helper", "model": MODEL, "description": "Changed."})


async def _knowledge(it: Installation, ana: httpx.AsyncClient, bea: httpx.AsyncClient) -> None:
    store = await _post(ana, "/v1/vector_stores", {"name": f"private-{it.canary}"})
    it.private_store = store["id"]
    await _document(it, ana, it.private_store, "diary")
    body = {"name": f"shared-{it.canary}", "sharing": "organization"}
    it.shared_store = (await _post(ana, "/v1/vector_stores", body))["id"]
    it.lecture = await _document(it, ana, it.shared_store, "lecture")
    of_bea = (await _post(bea, "/v1/vector_stores", {"name": "looms"}))["id"]
    # So many that one document is a small part of a file of the table.
    texts = [f"The loom number {number} has a shed and a reed." for number in range(30)]
    looms = [await _upload(bea, f"loom-{number}.md", text) for number, text in enumerate(texts)]
    path = f"/v1/vector_stores/{of_bea}/file_batches"
    batch = (await _post(bea, path, {"file_ids": looms}))["id"]
    await _completed(bea, f"{path}/{batch}")
    await _document(it, ana, of_bea, "note")
    await _upload(ana, f"unused-{it.canary}.md", f"Nobody reads {it.canary}.")


async def _document(it: Installation, client: httpx.AsyncClient, store: str, name: str) -> str:
    text = f"# {name}\n\nThe weaver {it.canary} opened the shed and threw the shuttle."
    file = await _upload(client, f"{name}-{it.canary}.md", text)
    await _attached(client, store, file)
    return file


async def _upload(client: httpx.AsyncClient, name: str, text: str) -> str:
    files = {"file": (name, text.encode())}
    response = await client.post("/v1/files", files=files, data={"purpose": "assistants"})
    assert response.is_success, response.text
    return str(response.json()["id"])


async def _attached(client: httpx.AsyncClient, store: str, file: str) -> None:
    path = f"/v1/vector_stores/{store}/files"
    await _post(client, path, {"file_id": file})
    await _completed(client, f"{path}/{file}")


async def _completed(client: httpx.AsyncClient, path: str) -> None:
    end = time.monotonic() + 60
    while (state := (await client.get(path)).json()["status"]) != "completed":
        assert state == "in_progress", state
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


async def _files(it: Installation) -> None:
    user = Identity(it.email, "uni", ("creator",))
    await GeneratedImages(it.folder / "images", 2**30).store(user, PNG + it.canary.encode())
    workspace = CallersWorkspace(it.folder / "workspaces", Threads(1), Caller(it.email, "uni"))
    name = f"{it.canary}.txt"
    first, second = Edit(f"{it.canary}\n", ""), Edit(f"{it.canary}!", it.canary)
    await workspace.patch(Area(), [FileEdits(name, (first,), create=True)])
    await workspace.patch(Area(), [FileEdits(name, (second,))])


async def _rows(it: Installation, database: str) -> None:
    """Add rows about the person that a migration from LAMB leaves."""
    now = int(time.time())
    row = zlib.compress(f'{{"email": "{it.email}", "name": "Ana {it.canary}"}}'.encode())
    async with open_database(database) as opened, opened.writing() as connection:
        job = {"kind": "import", "state": "done", "author": it.email, "created_at": now}
        number = await connection.scalar(
            insert(schema.jobs).values(**job, revision=1).returning(schema.jobs.c.id)
        )
        finding = {"job_id": number, "number": 1, "source": "users", "row_name": it.email}
        await connection.execute(insert(schema.job_findings).values(**finding))
        followed = {"source": "users", "row_id": 7, "document": row}
        await connection.execute(insert(schema.followed_rows).values(**followed))


async def _key(
    operator: httpx.AsyncClient, email: str, name: str, scopes: Sequence[str] = ()
) -> str:
    body = {"name": name, "organization": "uni", "user": email, "scopes": [*scopes]}
    return str((await _post(operator, "/keys", body))["key"])


async def _put(client: httpx.AsyncClient, path: str, body: Any) -> Any:
    response = await client.put(path, json=body)
    assert response.is_success, f"{path}: {response.text}"
    return response.json()


async def _post(client: httpx.AsyncClient, path: str, body: Any) -> Any:
    response = await client.post(path, json=body)
    assert response.is_success, f"{path}: {response.text}"
    return response.json()
