"""Conversations at their edges, through the gateway, with a process for each service.

Each row is asked for streamed and whole, and both answers must be the same.
"""

import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
import httpx
import pytest
import pytest_asyncio
from aiohttp import web
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.call_metadata import new_call_options
from integration.browser import browser
from integration.processes import Processes, processes
from integration.whole import write_assistant
from runtime.examples import sampled
from web_server import web_server

HERMES = '<tool_call>\n{"name": "lookup", "arguments": {"term": "shed"}}\n</tool_call>'
CUT_OFF = HERMES[:45]
QUESTION = "What is the gap between warp threads called?"
SHED = "A shed is the gap between the lifted and the lowered warp threads of a loom."
OTHER = "The Treaty of Utrecht of 1713 ended a war about the throne of Spain."
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
LOOKUP = {"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}
# As Open WebUI 0.7 and later put a question about an attached file, and 0.6 and earlier.
TASK = (
    "### Task:\nRespond to the user query using the provided context, incorporating inline "
    "citations in the format [id] **only when the <source> tag includes an explicit id attribute** "
    '(e.g., <source id="1">).\n\n### Guidelines:\n- If you don\'t know the answer, clearly state '
    "that.\n- Do not use XML tags in your response.\n\n### Output:\nProvide a clear and direct "
    f'response.\n\n<context>\n<source id="1" name="history.txt">{OTHER * 12}</source>\n</context>\n'
)
WRAPPED = f"{TASK}\n{QUESTION}"
WRAPPED_EARLIER = f"{TASK}\n<user_query>\n{QUESTION}\n</user_query>\n\n{QUESTION}"
FILES = (
    f'<attached_files>\n<file type="file" id="1" name="a.txt"/>\n</attached_files>\n\n{QUESTION}'
)

Row = tuple[list[dict[str, Any]], Callable[["Exchange"], None]]


@dataclass
class Exchange:
    """A question, what the model read, and both kinds of answer."""

    prompt: list[dict[str, Any]]
    """The messages that reached the provider."""
    message: dict[str, Any]
    finish: str
    warnings: list[str]
    sources: list[dict[str, Any]]

    @property
    def texts(self) -> str:
        """All text that the model read."""
        return json.dumps(self.prompt, ensure_ascii=False)


@dataclass
class Model:
    """A provider that answers with a text, and remembers what it read."""

    url: str = ""
    text: str = "Yes."
    finish: str = "stop"
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        if not body.get("stream"):
            message = {"role": "assistant", "content": self.text}
            choice = {"index": 0, "message": message, "finish_reason": self.finish}
            return web.json_response({"model": "m", "choices": [choice]})
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        deltas = [{"content": self.text[at : at + 3]} for at in range(0, len(self.text), 3)]
        for delta in (*deltas, {}):
            finish = None if delta else self.finish
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            data = json.dumps({"model": "m", "choices": [choice]})
            await response.write(f"data: {data}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response


@dataclass
class Heddle:
    """All services, in a process each, and the provider."""

    services: Processes
    client: httpx.AsyncClient
    model: Model

    async def ask(self, messages: list[dict[str, Any]], assistant: str, **more: Any) -> Exchange:
        """Ask for both kinds of answer, which must agree."""
        self.model.bodies.clear()
        body = {"model": assistant, "messages": messages, **more}
        response = await self.client.post("/v1/chat/completions", json=body)
        whole = response.json()
        assert "choices" in whole, whole
        assert ("x-heddle-warning" in response.headers) == bool(reported(whole))
        stream = await self.client.post("/v1/chat/completions", json={**body, "stream": True})
        streamed = from_stream(stream.text)
        first, second = (each["messages"] for each in self.model.bodies)
        assert first == second
        choice = whole["choices"][0]
        answer = Exchange(
            first,
            {name: choice["message"].get(name) for name in ("content", "reasoning_content")},
            choice["finish_reason"],
            reported(whole),
            [item for group in whole.get("sources", []) for item in group["metadata"]],
        )
        assert (streamed.message, streamed.finish, streamed.warnings, streamed.sources) == (
            answer.message,
            answer.finish,
            answer.warnings,
            answer.sources,
        )
        return answer


def reported(completion: dict[str, Any]) -> list[str]:
    """Return the warnings of the report."""
    events = completion.get("heddle", [])
    return [line for e in events if e["type"] == "report" for line in e["data"]["warnings"]]


def from_stream(text: str) -> Exchange:
    """Return what a client reads in a stream."""
    data = "data: "
    lines = [line.removeprefix(data) for line in text.splitlines() if line.startswith(data)]
    chunks = [json.loads(line) for line in lines if line != "[DONE]"]
    assert not [chunk for chunk in chunks if "error" in chunk], text
    choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    joined = {
        name: "".join(choice["delta"].get(name) or "" for choice in choices)
        for name in ("content", "reasoning_content")
    }
    shown = [chunk["event"] for chunk in chunks if "event" in chunk]
    warnings = [
        e["data"]["description"] for e in shown if e["data"].get("action") == "heddle.warning"
    ]
    assert warnings == reported({"heddle": [c["heddle"] for c in chunks if "heddle" in c]})
    return Exchange(
        [],
        {"content": joined["content"], "reasoning_content": joined["reasoning_content"] or None},
        next(choice["finish_reason"] for choice in choices if choice["finish_reason"]),
        warnings,
        [item for e in shown if e["type"] == "source" for item in e["data"]["metadata"]],
    )


MODEL = "model: {connector: openai, model: m}\n"
RAG = (
    "{type: simple_rag, slot: context, config: {collections: [weaving], top_k: 1, threshold: 0.0}}"
)
ASSISTANTS = {
    "1": f"{MODEL}prompt_template: 'Asked: {{user_input}}'\n",
    "2": f"{MODEL}prompt_template: 'Asked: {{user_input}}'\ncapabilities: {{vision: true}}\n",
    "3": MODEL,
    "4": f"{MODEL}prompt_template: '{{context}} {{user_input}}'\ntools:\n  - {RAG}\n",
    "5": f"{MODEL}strategy: agent_rules\ntools:\n"
    "  - {type: fast_vector_search, mode: agent, config: {collections: [weaving]}}\n",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def heddle(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Heddle]:
    folder = tmp_path_factory.mktemp("heddle")
    for identifier, text in ASSISTANTS.items():
        write_assistant(folder, identifier, text)
    model = Model()
    application = web.Application()
    application.router.add_post("/v1/chat/completions", model.complete)
    async with web_server(application) as url:
        model.url = f"{url}/v1"
        environment = {
            "HEDDLE_CONNECTOR_OPENAI_BASE_URL": model.url,
            "HEDDLE_CONNECTOR_OPENAI_API_KEY": "sk-test-0123456789abcdef",
            f"HEDDLE_{SETTING.upper()}": "127.0.0.0/8",
        }
        async with processes(folder, **environment) as services:
            await ingest(services)
            async with browser(services.url, timeout=60) as client:
                yield Heddle(services, client, model)


async def ingest(services: Processes) -> None:
    """Put two passages into a collection."""
    address = f"127.0.0.1:{services.ports['heddle_knowledge']}"
    async with grpc.aio.insecure_channel(address) as channel:
        knowledge = pb_grpc.KnowledgeServiceStub(channel)
        collection = pb.CreateCollectionRequest(collection=pb.Collection(name="weaving"))
        await knowledge.CreateCollection(collection, **new_call_options(60))
        for name, text in (("looms.txt", SHED), ("history.txt", OTHER)):
            document = pb.IngestDocumentRequest(collection="weaving", name=name, data=text.encode())
            call = knowledge.IngestDocument(document, **new_call_options(60))
            assert [event async for event in call]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


@dataclass
class Point:
    """A row: what is asked, what the model answers, and what must be read."""

    messages: list[dict[str, Any]]
    assistant: str = "3"
    answer: str = "Yes."
    finish: str = "stop"
    tools: bool = False
    content: str | None = None
    """The text of the answer, by default all that the model answers."""
    reasoning: str | None = None
    finish_reason: str = "stop"
    warns: str = ""
    """How the one warning begins; empty if there is none."""
    reads: tuple[str, ...] = ()
    """Texts that reach the model."""
    misses: tuple[str, ...] = ()
    """Texts that do not."""
    prompt: list[dict[str, Any]] | None = None
    """All messages that reach the model."""
    source: str = ""
    """The name of the one source."""


ASK = [user("Why?")]
SEEN = [user([{"type": "text", "text": "One"}, PICTURE]), says("A"), user([PICTURE]), says("B")]
CUT = "The answer ends inside a tool call"
POINTS = {
    "images of all turns are withheld": Point(
        [*SEEN, user([{"type": "text", "text": "Two"}, PICTURE])],
        "1",
        misses=("image_url",),
        reads=("One", "Asked: \\n\\nTwo\\n\\n", "An image was removed"),
        warns="This assistant does not read images",
    ),
    "images reach a model without a template": Point(
        [*SEEN, user([{"type": "text", "text": "Two"}, PICTURE])],
        "3",
        prompt=[*SEEN, user([{"type": "text", "text": "Two"}, PICTURE])],
    ),
    "images of earlier turns are withheld": Point(
        [*SEEN, user("Three")], "1", misses=("image_url",), reads=("One", "Three")
    ),
    "images of all turns reach a model with vision": Point(
        [*SEEN, user([{"type": "text", "text": "Two"}, PICTURE])],
        "2",
        prompt=[
            *SEEN,
            user([{"type": "text", "text": "Asked: \n\nTwo\n\n"}, PICTURE]),
        ],
    ),
    "a trailing system message is not the question": Point(
        [user(QUESTION), {"role": "system", "content": "Be brief."}],
        "4",
        prompt=[
            user(f"\n\n{SHED}\n\n \n\n{QUESTION}\n\n"),
            {"role": "system", "content": "Be brief."},
        ],
        source="looms.txt",
    ),
    "a trailing developer message is not the question": Point(
        [user("Why?"), {"role": "developer", "content": "Be brief."}],
        "1",
        prompt=[
            user("Asked: \n\nWhy?\n\n"),
            {"role": "developer", "content": "Be brief."},
        ],
    ),
    "think blocks without tools": Point(
        ASK, answer="<think>\nHm.\n</think>\n\nYes.", content="Yes.", reasoning="Hm."
    ),
    "think blocks with tools": Point(
        ASK, answer="<think>\nHm.\n</think>\n\nYes.", tools=True, content="Yes.", reasoning="Hm."
    ),
    "think blocks that are nested": Point(
        ASK,
        answer="<think>So<think>Hm</think>or</think>Yes.",
        content="Yes.",
        reasoning="So<think>Hm</think>or",
    ),
    "think blocks without an end": Point(
        ASK, answer="<think>Hm", finish="length", content="", reasoning="Hm", finish_reason="length"
    ),
    "think blocks in a fence": Point(ASK, answer="```xml\n<think>Hm.</think>\n```\n"),
    "a truncated call at the limit": Point(
        ASK,
        answer=f"I look.\n{CUT_OFF}",
        finish="length",
        tools=True,
        finish_reason="length",
        warns=CUT,
    ),
    "a truncated call where the model stops": Point(
        ASK, answer=f"I look.\n{CUT_OFF}", tools=True, finish_reason="length", warns=CUT
    ),
    "a truncated call alone": Point(
        ASK, answer=CUT_OFF, tools=True, finish_reason="length", warns=CUT
    ),
    "a malformed call is text": Point(
        ASK, answer="<seed:tool_call>\nlookup shed\n</seed:tool_call>", tools=True
    ),
    "text after a mark that begins nothing": Point(ASK, answer="3 <tool_ca", tools=False),
    "a question about a file": Point(
        [user(WRAPPED)], "4", reads=(SHED, "Treaty of Utrecht"), source="looms.txt"
    ),
    "a question about a file, as Open WebUI 0.6 asks": Point(
        [user(WRAPPED_EARLIER)], "4", reads=(SHED, "Treaty of Utrecht"), source="looms.txt"
    ),
    "a question about a file, in parts": Point(
        [user([{"type": "text", "text": WRAPPED}])],
        "4",
        reads=(SHED, "Treaty of Utrecht"),
        source="looms.txt",
    ),
    "a question with a list of files": Point(
        [user(FILES)], "4", reads=(SHED, "attached_files"), source="looms.txt"
    ),
    "a file whose context comes after a tool's result": Point(
        [
            user(QUESTION),
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": "7"},
            user(TASK),
        ],
        "4",
        reads=(SHED, "Treaty of Utrecht"),
        source="looms.txt",
    ),
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", sampled(POINTS, 4))
async def test_streamed_and_whole_answers_hold_at_the_edge(heddle: Heddle, name: str) -> None:
    point = POINTS[name]
    heddle.model.text, heddle.model.finish = point.answer, point.finish
    more = {"tools": [LOOKUP]} if point.tools else {}

    answer = await heddle.ask(point.messages, point.assistant, **more)

    assert answer.message == {
        "content": point.answer if point.content is None else point.content,
        "reasoning_content": point.reasoning,
    }
    assert answer.finish == point.finish_reason
    assert len(answer.warnings) == bool(point.warns)
    assert all(each.startswith(point.warns) for each in answer.warnings)
    assert [each for each in point.reads if each not in answer.texts] == []
    assert [each for each in point.misses if each in answer.texts] == []
    if point.prompt is not None:
        assert answer.prompt == point.prompt
    assert [each["name"] for each in answer.sources] == ([point.source] if point.source else [])


@pytest.mark.exhaustive
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_the_agent_decides_and_searches_by_the_question_about_a_file(
    heddle: Heddle, *, stream: bool
) -> None:
    heddle.model.text, heddle.model.finish = "Yes.", "stop"
    messages = [user(WRAPPED), {"role": "system", "content": "Be brief."}]
    body = {"model": "5", "messages": messages, "stream": stream}

    answer = await heddle.client.post("/v1/chat/completions", json=body)

    assert f'"query":"{QUESTION}"' in answer.text.replace('": "', '":"')
    last = heddle.model.bodies[-1]["messages"]
    assert last[-1] == messages[-1]
    assert SHED in last[-2]["content"]
    assert WRAPPED in last[-2]["content"]
