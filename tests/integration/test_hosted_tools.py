"""Hosted tools of `/v1/responses`: the installation's own, with the rights of who asks."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from integration.functions.upstream import Upstream, scripted
from integration.whole import whole
from patience import until
from threats.obedient_model import obey

pytestmark = pytest.mark.asyncio(loop_scope="module")
PEOPLE = {"ana": "creator", "ben": "creator", "lea": "member"}
LOOK = '[[call simple_rag {"query": "Who wove the net?"}]]'
TEXT = "Arachne wove the net in the year of the heron."


@dataclass
class Heddle:
    """A whole Heddle, whose model obeys, with a client for each person."""

    clients: dict[str, httpx.AsyncClient]
    provider: Upstream
    store: str
    """A vector store of Ana's."""

    async def respond(self, person: str, **body: object) -> httpx.Response:
        """Return the response to a question."""
        self.provider.bodies.clear()
        members = {"model": "lamb_assistant.file-open", "input": LOOK, **body}
        return await self.clients[person].post("/v1/responses", json=members)

    @property
    def offered(self) -> list[str]:
        """The functions that the model could call first."""
        tools = self.provider.bodies[0].get("tools") or ()
        return [each["function"]["name"] for each in tools]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def heddle(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Heddle]:
    folder: Path = tmp_path_factory.mktemp("hosted")
    keys = {
        f"sk-{name}-{'k' * 24}": {"subject": name, "organization": "school", "scopes": [role]}
        for name, role in PEOPLE.items()
    }
    (folder / "keys.json").write_text(json.dumps(keys))
    (folder / "assistants").mkdir()
    (folder / "assistants" / "open.yaml").write_text(
        "_format_version: 2\nid: open\nname: open\nmodel: {connector: openai, model: scripted}\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        async with scripted(obey) as provider:
            patch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", provider.url)
            patch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", "test")
            patch.setenv("HEDDLE_CONNECTOR_SHARE_PROVIDERS", "true")
            settings: dict[str, Any] = {"development": False, "api_keys": folder / "keys.json"}
            async with whole(folder, **settings) as running:
                clients = {
                    name: httpx.AsyncClient(
                        base_url=running.url,
                        headers={"authorization": f"Bearer {key}"},
                        trust_env=False,
                        timeout=60,
                    )
                    for key, name in zip(keys, PEOPLE, strict=True)
                }
                yield Heddle(clients, provider, await filled(clients["ana"]))
                for each in clients.values():
                    await each.aclose()


async def filled(client: httpx.AsyncClient) -> str:
    """Return a new vector store with a text."""
    store = (await client.post("/v1/vector_stores", json={"name": "Weavers"})).json()["id"]
    files = {"file": ("net.txt", TEXT.encode(), "text/plain")}
    uploaded = await client.post("/v1/files", files=files, data={"purpose": "assistants"})
    path = f"/v1/vector_stores/{store}/files"
    await client.post(path, json={"file_id": uploaded.json()["id"]})

    async def ready() -> bool:
        listed = (await client.get(path)).json()["data"]
        return [each["status"] for each in listed] == ["completed"]

    await until(ready)
    return str(store)


def search(*stores: str, **more: object) -> dict[str, Any]:
    return {"type": "file_search", "vector_store_ids": [*stores], **more}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_search_in_an_own_store_is_offered_and_found(
    heddle: Heddle, *, stream: bool
) -> None:
    response = await heddle.respond(
        "ana",
        tools=[search(heddle.store, max_num_results=5)],
        include=["file_search_call.results"],
        stream=stream,
    )
    answer = response.json() if not stream else json.loads(response.text.split("data: ")[-1])
    answer = answer.get("response", answer)
    [item] = [each for each in answer["output"] if each["type"] == "file_search_call"]
    assert item["queries"] == ["Who wove the net?"]
    assert [each["text"] for each in item["results"]] == [TEXT]
    assert heddle.offered == ["simple_rag"]
    assert TEXT in str(heddle.provider.bodies[-1]["messages"])
    assert answer["output"][-1]["content"][0]["annotations"][0]["filename"] == "net.txt"


async def test_no_store_of_another_is_searched(heddle: Heddle) -> None:
    for name in (heddle.store, "vs_" + "0" * 32):
        refused = await heddle.respond("ben", tools=[search(name)])
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (400, "vector_store_not_found")
        assert error["param"] == "tools[0].vector_store_ids"
    assert heddle.provider.bodies == []
    filters = {"type": "eq", "key": "a", "value": "b"}
    refused = await heddle.respond("ana", tools=[search(heddle.store, filters=filters)])
    assert refused.json()["error"]["param"] == "tools[0].filters"


async def test_what_is_not_here_or_not_allowed_is_left_out_with_a_warning(heddle: Heddle) -> None:
    absent = [
        *({"type": "web_search"}, {"type": "image_generation"}, {"type": "namespace"}),
        {"type": "mcp", "server_label": "wiki", "server_url": "http://127.0.0.1:1"},
    ]
    for person, tools in (("ana", absent), ("lea", [search(heddle.store), absent[0]])):
        response = await heddle.respond(person, tools=tools, input="Hello")
        assert (response.status_code, heddle.offered) == (200, [])
        warning = response.headers["x-heddle-warning"]
        kinds = [str(each["type"]) for each in tools]
        assert all(f"tool {kind}; it was left out" in warning for kind in kinds), warning


async def test_the_model_must_call_the_search_that_the_client_chooses(heddle: Heddle) -> None:
    await heddle.respond("ana", tools=[search(heddle.store)], tool_choice={"type": "file_search"})
    choice = heddle.provider.bodies[0]["tool_choice"]
    assert choice == {"type": "function", "function": {"name": "simple_rag"}}
    refused = await heddle.respond("ana", tool_choice={"type": "file_search"})
    assert refused.json()["error"]["param"] == "tool_choice.type"
