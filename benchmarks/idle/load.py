"""What users do before the services rest again: chats, searches and documents."""

import asyncio
import re
import sysconfig
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, TypeVar

import httpx

PLAIN, GROUNDED = "plain", "grounded"
COLLECTION = "manuals"
ASSISTANTS = {
    PLAIN: "id: plain\nname: plain\nmodel: {connector: openai, model: fake}\n",
    GROUNDED: (
        "id: grounded\nname: grounded\nmodel: {connector: openai, model: fake}\n"
        "prompt_template: '{context} {user_input}'\n"
        f"tools: [{{type: simple_rag, config: {{collections: [{COLLECTION}]}}}}]\n"
    ),
}
"""One that asks its model, and one that searches first."""
ItemT = TypeVar("ItemT")
_CHARACTERS = 1_000
"""Of a document at least: a page of text."""
_CONCURRENT = 8
_SECONDS = 120.0
_POLL_SECONDS = 0.1
_RETRIES, _RETRY_SECONDS = 10, 1.0
_MANUALS = Path(sysconfig.get_path("purelib")) / "mercurial" / "helptext"


class LoadFailedError(Exception):
    """A chat or a document did not get through."""


async def apply(
    address: str, chats: int, documents: int, assistants: Sequence[str] = (PLAIN, GROUNDED)
) -> None:
    """Bring documents into a collection, then chat about them.

    Args:
        address: Of the gateway.
        chats: Each about other words.
        documents: Each is uploaded, read, embedded and then found.
        assistants: Which answer, in turns.

    Raises:
        LoadFailedError: One of them failed.
    """
    texts = list(islice(pages(), max(documents, chats)))
    async with httpx.AsyncClient(base_url=f"http://{address}", timeout=_SECONDS) as client:
        listed = _json(await client.get("/v1/vector_stores"))["data"]
        ids = [each["id"] for each in listed if each["name"] == COLLECTION]
        if not ids:
            body = {"name": COLLECTION}
            ids = [_json(await client.post("/v1/vector_stores", json=body))["id"]]
        [store] = ids
        await _all(lambda text: _document(client, store, text), texts[:documents])
        questions = islice(zip(cycle(assistants), texts, strict=False), chats)
        await _all(lambda question: _chat(client, *question), list(questions))


def pages() -> Iterator[str]:
    """Yield pages of the manual that the demonstration reads, again and again, each numbered."""
    paragraphs = [
        paragraph
        for file in sorted(_MANUALS.glob("*.txt"))
        for paragraph in re.split(r"\n\n+", file.read_text())
    ]
    page = ""
    number = 0
    for paragraph in cycle(paragraphs):
        page += f"\n\n{paragraph}"
        if len(page) >= _CHARACTERS:
            number += 1
            yield f"# Page {number}{page}"
            page = ""


async def _all(work: Callable[[ItemT], Awaitable[None]], items: Iterable[ItemT]) -> None:
    waiting = iter(items)

    async def one_after_the_other() -> None:
        for item in waiting:
            await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(_CONCURRENT):
            group.create_task(one_after_the_other())


async def _chat(client: httpx.AsyncClient, assistant: str, text: str) -> None:
    body = {
        "model": f"lamb_assistant.{assistant}",
        "messages": [{"role": "user", "content": text[:200]}],
    }
    response = await client.post("/v1/chat/completions", json=body)
    # As clients do: on a machine that is too busy, a service or the provider may answer too late.
    for _ in range(_RETRIES):
        if response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            break
        await asyncio.sleep(_RETRY_SECONDS)
        response = await client.post("/v1/chat/completions", json=body)
    _json(response)


async def _document(client: httpx.AsyncClient, store: str, text: str) -> None:
    name = f"{text.partition(chr(10))[0].removeprefix('# ')}.md"
    form = {"purpose": "assistants"}
    uploaded = await client.post("/v1/files", data=form, files={"file": (name, text.encode())})
    files = f"/v1/vector_stores/{store}/files"
    file = _json(await client.post(files, json={"file_id": _json(uploaded)["id"]}))
    while file["status"] == "in_progress":
        await asyncio.sleep(_POLL_SECONDS)
        file = _json(await client.get(f"{files}/{file['id']}"))
    if file["status"] != "completed":
        raise LoadFailedError(str(file))


def _json(response: httpx.Response) -> dict[str, Any]:
    if response.is_error:
        raise LoadFailedError(f"{response.request.url}: {response.status_code} {response.text}")
    content: dict[str, Any] = response.json()
    return content
