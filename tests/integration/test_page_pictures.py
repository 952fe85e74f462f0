"""A real manual from end to end: a question about a diagram finds its page, and the page opens."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.client import channel as connected
from integration.browser import browser
from integration.provider import providing
from integration.test_organizations import SECRET, Operator, bearer
from integration.whole import Transport, whole
from knowledge.pages.pdfs import cut, pdf
from pydantic import SecretStr

from benchmarks.pages.manuals import NoManualError, fetch

ANN = Identity("ann@uni.example", "uni", ("creator",))
QUESTION = "Which circuit diagram connects a 1uF capacitor to SQR1 and A0?"
DIAGRAM = 36  # of the whole manual: an RC circuit, drawn, with labels that are no text
BOTH = pytest.mark.parametrize("transport", ["grpc", "local"])


@dataclass(frozen=True)
class Library:
    """Heddle, its knowledge in Ann's name, and the keys of two organisations."""

    client: httpx.AsyncClient
    knowledge: Any
    keys: dict[str, str]

    async def get(self, uri: str, who: str = "uni", **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.get(uri, headers={**bearer(self.keys[who]), **named})

    async def keep(self, data: bytes, handling: pb.PageHandling.ValueType) -> pb.Collection:
        """Put a manual into a collection of Ann's."""
        wanted = pb.Collection(name="eyes", page_handling=handling)
        request = pb.CreateCollectionRequest(collection=wanted)
        made = await self.knowledge.CreateCollection(request, **signed())
        document = pb.IngestDocumentRequest(collection="eyes", name="en-eyes.pdf", data=data)
        [_ async for _ in self.knowledge.IngestDocument(document, **signed())]
        found: pb.Collection = made.collection
        return found


def signed() -> Any:
    """Make the next call one of a caller, whose token the channel adds."""
    CALLER.set(Caller("", ANN))
    return {"timeout": 110}


@asynccontextmanager
async def library(
    folder: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> AsyncGenerator[Library]:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
    monkeypatch.setenv(SETTING, "127.0.0.0/8")
    async with AsyncExitStack() as exits:
        enter = exits.enter_async_context
        heddle = await enter(whole(folder, transport))
        operator = Operator(
            await enter(connected(heddle.stack.assistants, secret=SecretStr(SECRET)))
        )
        provider = await enter(providing())
        keys = {slug: await operator.organization(slug, provider) for slug in ("uni", "school")}
        channel = await enter(connected(heddle.stack.knowledge, secret=SecretStr(SECRET)))
        client = await enter(browser(heddle.url, timeout=60))
        yield Library(client, pb_grpc.KnowledgeServiceStub(channel), keys)


@pytest.mark.exhaustive
@BOTH
async def test_a_picture_opens_for_those_who_may_search_and_for_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    async with library(tmp_path, monkeypatch, transport) as here:
        made = await here.keep(pdf("A shed.", "A heddle."), pb.PAGE_HANDLING_PICTURES)
        listed = await here.knowledge.ListDocuments(
            pb.ListDocumentsRequest(collection="eyes"), **signed()
        )
        (document,) = listed.documents
        counted = await here.knowledge.GetCollectionStatistics(
            pb.GetCollectionStatisticsRequest(collection="eyes"), **signed()
        )
        place = f"/v1/vector_stores/{made.id}/files/{document.id}/pages"
        opened = await here.get(f"{place}/2")
        known = await here.get(f"{place}/2", if_none_match=opened.headers["etag"])
        other = await here.get(f"{place}/1", if_none_match=opened.headers["etag"])
        missing = [
            await here.get(f"{place}/3"),
            await here.get(f"{place}/0"),
            await here.get(f"{place}/two"),
            await here.get(f"/v1/vector_stores/{made.id}/files/doc_{'0' * 32}/pages/1"),
        ]
        hidden = await here.get(f"{place}/2", "school")
        nowhere = await here.get(f"{place}/2".replace(made.id, f"vs_{'0' * 32}"), "school")

    assert document.page_count == counted.page_count == 2
    assert (opened.status_code, opened.headers["content-type"]) == (200, "image/webp")
    assert opened.content[8:12] == b"WEBP"
    assert "private" in opened.headers["cache-control"]
    assert (known.status_code, known.content) == (304, b"")
    assert other.status_code == 200
    assert [each.status_code for each in missing] == [404] * 4
    assert (hidden.status_code, nowhere.status_code) == (404, 404)
    assert hidden.text.replace(made.id, f"vs_{'0' * 32}") == nowhere.text


@pytest.mark.exhaustive
@pytest.mark.timeout(300)
async def test_a_question_about_a_diagram_finds_its_page_which_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    try:
        manual = fetch("expeyes-doc-en", tmp_path_factory.getbasetemp() / "manuals")
    except NoManualError as why:
        pytest.skip(f"the manual cannot be had: {why}")
    few = [DIAGRAM - 26, DIAGRAM]
    async with library(tmp_path, monkeypatch, "local") as here:
        await here.keep(cut(manual, few), pb.PAGE_HANDLING_SEARCH)
        request = pb.SearchPagesRequest(collections=["eyes"], query=QUESTION)
        found = await here.knowledge.SearchPages(request, **signed())
        assistant = {
            "name": "tutor",
            "model": {"connector": "bypass", "model": "simple-bypass"},
            "prompt_template": "{context}\n\n{user_input}",
            "tools": [
                {
                    "id": "pages",
                    "type": "colqwen_search",
                    "mode": "augment",
                    "slot": "context",
                    "config": {"collections": ["eyes"]},
                }
            ],
        }
        key = bearer(here.keys["uni"])
        saved = await here.client.post("/assistants", json=assistant, headers=key)
        asked = {
            "model": f"lamb_assistant.{saved.headers['location'].rpartition('/')[2]}",
            "messages": [{"role": "user", "content": QUESTION}],
        }
        answer = await here.client.post("/v1/chat/completions", json=asked, headers=key)
        cited = answer.json()["sources"][0]["metadata"][0]
        opened = await here.get(cited["source"])

    best = found.pages[0]
    assert (found.model, found.visual) == ("minilm-l6-ocr-maxsim", False)
    assert best.page == few.index(DIAGRAM) + 1
    assert any("1uF" in figure for figure in best.figures)
    assert cited["page"] == best.page - 1  # Open WebUI counts from 0 and shows from 1
    assert opened.content[8:12] == b"WEBP"
