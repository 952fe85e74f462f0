"""An agent with the real searches: a manual in the knowledge store, its pages, and one answer."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import yaml
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from integration.browser import browser
from integration.test_agent import ROOT, stream_answer
from integration.whole import whole, write_assistant
from knowledge.pages.pdfs import pdf

EXAMPLE = ROOT / "examples" / "assistants" / "manual-agent.yaml"
LEFT_OUT = ("_format_version", "id", "name")
MANUAL = pdf(
    "The retaining ring holds the bearing of the pump in its place.",
    "Figure 2: wiring diagram of the pump, with the relay K1 and the fuse F3.",
    "Replace the oil filter after 500 hours of operation.",
)


@dataclass(frozen=True)
class Answered:
    """What came of a question."""

    chosen: list[str]
    outputs: list[dict[str, Any]]
    text: str

    def of(self, tool: str) -> dict[str, Any]:
        """Return what a tool found."""
        (output,) = [each for each in self.outputs if each["payload"].get("tool") == tool]
        payload: dict[str, Any] = output["payload"]
        return payload


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[httpx.AsyncClient]:
    """Talk to a Heddle that has the manual, and the example with a connector that echoes."""
    assistant = yaml.safe_load(EXAMPLE.read_text())
    rest = {name: each for name, each in assistant.items() if name not in LEFT_OUT}
    for tool in rest["tools"]:  # the collection is the tools' default
        tool.pop("config", None)
    bypass = {"connector": "bypass", "model": "simple-bypass"}
    write_assistant(tmp_path, "7", yaml.safe_dump({**rest, "model": bypass}))
    async with whole(tmp_path) as here, browser(here.url, timeout=100) as http:
        async with grpc.aio.insecure_channel(here.stack.knowledge) as channel:
            await ingest(pb_grpc.KnowledgeServiceStub(channel))
        yield http


async def ingest(knowledge: Any) -> None:
    collection = pb.Collection(name="AssetManual", page_handling=pb.PAGE_HANDLING_SEARCH)
    await knowledge.CreateCollection(pb.CreateCollectionRequest(collection=collection), timeout=60)
    document = pb.IngestDocumentRequest(collection="AssetManual", name="pump.pdf", data=MANUAL)
    [_ async for _ in knowledge.IngestDocument(document, timeout=110)]


async def ask(client: httpx.AsyncClient, words: str) -> Answered:
    chunks, text = await stream_answer(client, words)
    happened = [chunk["heddle"] for chunk in chunks if "heddle" in chunk]
    decisions = [each["data"] for each in happened if each["type"] == "decision"]
    chosen = [choice["tool"] for each in decisions for choice in each["choices"]]
    return Answered(chosen, [e["data"] for e in happened if e["type"] == "output"], text)


async def test_each_question_takes_its_own_way_to_an_answer(client: httpx.AsyncClient) -> None:
    diagram = await ask(client, "Show me the wiring diagram of the pump")
    fact = await ask(client, "What is the retaining ring of the pump for?")
    greeting = await ask(client, "Hello!")

    assert diagram.chosen == ["colqwen_search", "visual_interpretation", "text_response"]
    pages = diagram.of("colqwen_search")["objects"]
    assert pages[0]["page"] == 2
    (seen,) = diagram.of("visual_interpretation")["objects"]
    assert (seen["page"], seen["image_path"]) == (2, pages[0]["preview_url"])
    assert "relay K1" in diagram.text

    assert fact.chosen == ["fast_vector_search", "text_response"]
    passages = fact.of("fast_vector_search")
    assert passages["name"] == "AssetManual"
    assert "retaining ring" in passages["objects"][0]["text"]
    assert "holds the bearing" in fact.text

    assert greeting.chosen == ["text_response"]
    assert greeting.text == "Hello!"
