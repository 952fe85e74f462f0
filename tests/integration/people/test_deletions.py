"""What a user deletes is in no file, table or object any more after the time for cleaning up."""

import asyncio
import secrets
import sqlite3
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import asyncpg
import grpc
import httpx
import pytest
from assistants.postgres import postgres
from gateway.essays import EXAMPLE
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import ADMIN, Identity
from heddle_runtime.rpc.client import channel
from integration.browser import browser
from integration.people.test_erasing import KEYS, SECRET
from integration.people.traces import tables_with, traces
from integration.whole import whole
from knowledge.pages.pdfs import pdf
from pydantic import SecretStr
from s3_server import S3Server

SECONDS = "1"
"""Between two times at which services clean up."""
MODEL = {"connector": "bypass", "model": "simple-bypass"}
GRAPH = "people"
"""The name of a collection with a graph."""
Client = httpx.AsyncClient
Deletion = Callable[[], Awaitable[None]]


async def body_of(response: httpx.Response) -> Any:
    assert response.is_success, response.text
    return response.json()


async def post(client: Client, path: str, body: Any) -> Any:
    return await body_of(await client.post(path, json=body))


async def remove(client: Client, path: str) -> None:
    response = await client.delete(path)
    assert response.is_success, response.text


async def upload(client: Client, name: str, data: bytes) -> str:
    files, form = {"file": (name, data)}, {"purpose": "assistants"}
    response = await client.post("/v1/files", files=files, data=form)
    return str((await body_of(response))["id"])


async def ingested(client: Client, path: str, file: str) -> str:
    """Put a file into a store; return its path there."""
    await post(client, path, {"file_id": file})
    async with asyncio.timeout(60):
        while True:
            state = await body_of(await client.get(f"{path}/{file}"))
            if state["status"] != "in_progress":
                break
            await asyncio.sleep(0.05)
    assert state["status"] == "completed", state
    return f"{path}/{file}"


async def stored(client: Client, text: str, *, is_pdf: bool = False) -> tuple[str, list[str]]:
    """Put a file among others into two stores; return it and its paths there."""
    sentence = f"The weaver {text} opened the shed."
    data = pdf(sentence) if is_pdf else sentence.encode()
    file = await upload(client, f"{text}.{'pdf' if is_pdf else 'md'}", data)
    others = [await upload(client, f"{n}.md", f"Loom {n}.".encode()) for n in range(3)]
    paths = []
    for _ in range(2):
        body = {"name": f"store-{secrets.token_hex(4)}"}
        store = (await post(client, "/v1/vector_stores", body))["id"]
        path = f"/v1/vector_stores/{store}/files"
        for each in others:
            await ingested(client, path, each)
        paths.append(await ingested(client, path, file))
    return file, paths


async def a_file(client: Client, text: str) -> Deletion:
    file, _ = await stored(client, text)
    return lambda: remove(client, f"/v1/files/{file}")


async def a_pdf(client: Client, text: str) -> Deletion:
    file, _ = await stored(client, text, is_pdf=True)
    return lambda: remove(client, f"/v1/files/{file}")


async def a_file_with_a_graph(client: Client, text: str) -> Deletion:
    (store,) = [
        each["id"]
        for each in (await body_of(await client.get("/v1/vector_stores")))["data"]
        if each["name"] == GRAPH
    ]
    names = [f"{text.title()} {each}" for each in ("Weaver", "Spinner", "Dyer")]
    sentences = f"{names[0]} met {names[1]} in London. {names[1]} taught {names[2]} in Paris."
    file = await upload(client, f"{text}.md", sentences.encode())
    others = [await upload(client, f"{n}.md", f"Loom {n}.".encode()) for n in range(3)]
    for each in (*others, file):
        await ingested(client, f"/v1/vector_stores/{store}/files", each)
    return lambda: remove(client, f"/v1/files/{file}")


async def a_store_and_its_file(client: Client, text: str) -> Deletion:
    file, paths = await stored(client, text)

    async def deletion() -> None:
        await remove(client, paths[0])
        await remove(client, paths[1].partition("/files")[0])
        await remove(client, f"/v1/files/{file}")

    return deletion


async def a_collection_of_lamb(client: Client, text: str) -> Deletion:
    collection = (await post(client, "/collections", {"name": text, "owner": "1"}))["id"]
    file = await upload(client, f"{text}.md", f"The weaver {text}.".encode())
    await ingested(client, f"/v1/vector_stores/{collection}/files", file)
    return lambda: remove(client, f"/collections/{collection}")


async def an_assistant(client: Client, text: str) -> Deletion:
    body = {"name": f"tutor_{secrets.token_hex(4)}", "system_prompt": f"Be {text}.", "model": MODEL}
    path = f"/assistants/{(await post(client, '/assistants', body))['id']}"
    questions = {"questions": [{"title": "Who", "text": f"Who is {text}?"}]}
    await body_of(await client.put(f"{path}/questions", json=questions))
    return lambda: remove(client, path)


async def a_rubric(client: Client, text: str) -> Deletion:
    rubric = await post(client, "/rubrics", {"content": {**EXAMPLE, "description": f"Of {text}"}})
    return lambda: remove(client, f"/rubrics/{rubric['id']}")


async def a_prompt(client: Client, text: str) -> Deletion:
    prompt = await post(client, "/prompts", {"title": "Tutor", "system_prompt": f"Of {text}"})
    return lambda: remove(client, f"/prompts/{prompt['id']}")


KINDS = [
    *(a_file, a_pdf, a_file_with_a_graph, a_store_and_its_file, a_collection_of_lamb),
    *(an_assistant, a_rubric, a_prompt),
]
"""Each stores a text somewhere, and returns what deletes it."""
UNNAMED = (an_assistant, a_rubric, a_prompt)
"""Those whose text is in no name, so that no event of the audit log has it."""
NO_UNDELETING = "UPDATE assistants SET deleted_at = 1 WHERE deleted_at IS NOT NULL"
STATISTICS = "2619"
"""The file of `pg_statistic`, which belongs to the server; the page about personal data says so."""
WITHOUT_OLD_LOGS = ("-c", "wal_recycle=off", "-c", "min_wal_size=32MB")


@asynccontextmanager
async def running(
    folder: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Client]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    for name in ("KNOWLEDGE_CLEANUP", "KNOWLEDGE_VERSION", "ASSISTANTS_CLEANUP"):
        monkeypatch.setenv(f"HEDDLE_{name}_SECONDS", SECONDS)
    async with whole(folder, database=database) as it, browser(it.url, "", timeout=120) as client:
        await with_graph(it.stack.knowledge)
        yield client


async def with_graph(address: str) -> None:
    """Create the collection with a graph, which REST does not offer, unless it is there."""
    before = CALLER.set(Caller("", Identity("operator", scopes=(ADMIN,))))
    try:
        async with channel(address, secret=SecretStr(SECRET)) as connection:
            request = pb.CreateCollectionRequest(collection=pb.Collection(name=GRAPH, graph=True))
            stub: Any = pb_grpc.KnowledgeServiceStub(connection)
            try:
                await stub.CreateCollection(request, timeout=30)
            except grpc.aio.AioRpcError as error:  # it is there after the second start
                if error.code() is not grpc.StatusCode.ALREADY_EXISTS:
                    raise
    finally:
        CALLER.reset(before)


async def gone(places: Callable[[], Awaitable[Sequence[str]]]) -> None:
    """Wait until a text is nowhere."""
    end = time.monotonic() + 60
    while where := await places():
        assert time.monotonic() < end, where
        await asyncio.sleep(0.5)


async def pictures(client: Client) -> list[bytes]:
    """Return some bytes from the middle of each picture of a page."""
    parts = []
    for store in (await body_of(await client.get("/v1/vector_stores")))["data"]:
        path = f"/v1/vector_stores/{store['id']}/files"
        for file in (await body_of(await client.get(path)))["data"]:
            pages = await body_of(await client.get(f"{path}/{file['id']}/pages"))
            for each in pages["data"]:
                picture = f"{path}/{pages['document_id']}/pages/{each['number']}"
                content = (await client.get(picture)).content
                parts.append(content[len(content) // 2 :][:16])
    assert parts
    return parts


async def deleted(
    client: Client,
    texts: Mapping[Any, str],
    parts: list[bytes],
    seen: Callable[[], Awaitable[Any]],
) -> None:
    """Store texts everywhere, note the pictures of their pages, and delete all of them."""
    deletions = [await kind(client, text) for kind, text in texts.items()]
    parts += await pictures(client)
    await seen()
    for each in deletions:
        await each()
    for store in (await body_of(await client.get("/v1/vector_stores")))["data"]:
        path = f"/v1/vector_stores/{store['id']}"
        matches = str(await post(client, f"{path}/search", {"query": "weaver"}))
        assert not any(text in matches for text in texts.values())
        others = await body_of(await client.get(f"{path}/files"))
        assert len(others["data"]) == 3


@pytest.mark.exhaustive
async def test_what_is_deleted_is_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {kind: f"kanari{secrets.token_hex(8)}" for kind in KINDS}
    parts: list[bytes] = []

    async def places() -> Sequence[str]:
        of_texts = [
            each
            for kind, text in texts.items()
            for each in await asyncio.to_thread(traces, tmp_path, text)
            if kind in UNNAMED or not each.startswith("heddle.db")
        ]
        return of_texts + await asyncio.to_thread(traces, tmp_path, *parts)

    async def seen() -> None:
        before = await places()
        folders = ("uploads", "pages")
        for place in ("heddle.db", "chunks_", *(f"knowledge/{each}" for each in folders)):
            assert any(place in each for each in before), f"the test sees nothing of {place}"

    async with running(tmp_path, "", monkeypatch) as client:
        await deleted(client, texts, parts, seen)
    with closing(sqlite3.connect(tmp_path / "heddle.db")) as database, database:
        database.execute(NO_UNDELETING)
    async with running(tmp_path, "", monkeypatch):
        await gone(places)


@pytest.mark.exhaustive
@pytest.mark.parametrize("bytes_in", ["rows", "objects"])
async def test_what_is_deleted_is_in_no_table_and_no_file_of_postgresql(
    bytes_in: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, object_server: S3Server
) -> None:
    texts = {kind: f"kanari{secrets.token_hex(8)}" for kind in KINDS}
    unnamed = [texts[kind] for kind in UNNAMED]
    parts: list[bytes] = []
    prefix = secrets.token_hex(4)
    for name, value in object_server.settings(prefix).items() if bytes_in == "objects" else ():
        monkeypatch.setenv(name, value)
    with (
        postgres(wheel="pgserver", options=WITHOUT_OLD_LOGS) as server,
        server.database() as url,
        server.database() as store,
    ):
        monkeypatch.setenv("HEDDLE_KNOWLEDGE_STORE_URL", store)
        connection = await asyncpg.connect(store)
        query = "SELECT oid FROM pg_database WHERE datname = current_database()"
        files_of_store = server.data / "base" / str(await connection.fetchval(query))
        await connection.close()

        async def places() -> Sequence[str]:
            server.execute("CHECKPOINT")
            return [
                *await tables_with(url, *unnamed),
                *await tables_with(store, *texts.values(), *parts),
                *await asyncio.to_thread(traces, tmp_path, *texts.values(), *parts),
                *await asyncio.to_thread(traces, server.data, *unnamed),
                *(
                    each
                    for each in await asyncio.to_thread(
                        traces, files_of_store, *texts.values(), *parts
                    )
                    if not each.startswith(STATISTICS)
                ),
                *object_server.keys(prefix)[4 * 3 :],
            ]

        async def seen() -> None:
            before = await places()
            assert {"public.assistants", "heddle_knowledge.attached_files"} < {*before}
            if bytes_in == "rows":
                assert "heddle_knowledge.pages" in before
            else:
                assert any("/pages/" in each for each in object_server.keys(prefix))

        async with running(tmp_path, url, monkeypatch) as client:
            await deleted(client, texts, parts, seen)
        connection = await asyncpg.connect(url)
        await connection.execute(NO_UNDELETING)
        await connection.close()
        async with running(tmp_path, url, monkeypatch):
            await gone(places)
