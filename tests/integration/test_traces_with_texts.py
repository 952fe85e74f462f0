"""Texts in spans: only if the operator wants them and no organisation forbids it."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import heddle_knowledge.store  # noqa: F401 - takes seconds to load
import heddle_tools_service.providers.mcp.session  # noqa: F401 - as above
import pytest
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle_runtime.telemetry import content
from integration.browser import browser
from integration.functions.upstream import calls, says
from integration.otlp_receiver import receiving, stable
from integration.processes import ONE_PROCESS, processes
from integration.provider import providing
from integration.scraped import ASSISTANT, BIRDS, CANARY, upload
from integration.test_mcp import environment, site, uni  # noqa: F401 - fixtures
from integration.test_moodle import signed
from integration.test_traces import attributes, ingested
from integration.whole import write_assistant
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from patience import until
from recorded_spans import Recorded, recorded
from tools_service.mcp_sites import Library

SECRET = "sk-proj-" + "a1B2" * 12
QUESTION = f"What do herons do? {CANARY} {SECRET} ann@example.org"


@pytest.mark.exhaustive
async def test_spans_have_the_texts_that_the_operator_wants(tmp_path: Path) -> None:
    async with providing() as provider, receiving() as receiver:
        write_assistant(tmp_path, "1", ASSISTANT.replace("MODEL", "m"))
        async with (
            processes(
                tmp_path,
                ONE_PROCESS,
                HEDDLE_CONNECTOR_OPENAI_BASE_URL=provider.url,
                HEDDLE_CONNECTOR_OPENAI_API_KEY="test",
                HEDDLE_TRACES_SAMPLE="1",
                HEDDLE_TRACES_CONTENT="1",
                HEDDLE_TRACES_USERS="1",
                OTEL_EXPORTER_OTLP_ENDPOINT=receiver.http,
                OTEL_BSP_SCHEDULE_DELAY="100",
            ) as heddle,
            browser(heddle.url) as client,
        ):
            await upload(client, "birds", "herons.txt", BIRDS)
            await ingested(client)
            for stream in (False, True):
                request_id = await ask(client, QUESTION, stream=stream)
                spans = partial(receiver.of_request, request_id)
                await until(partial(has_all, spans))
                by_name = {stable(span.name): attributes(span) for span in spans()}
                check_texts(by_name, stream=stream)
                check_names(by_name)
            request_id = await ask(client, "long " * 50_000)
            spans = partial(receiver.of_request, request_id)
            await until(partial(has_all, spans))
            for span in spans():
                for value in attributes(span).values():
                    assert len(str(value).encode()) <= content.MAX_BYTES
            log = heddle.log(ONE_PROCESS[0])
    for body in receiver.raw:
        assert SECRET.encode() not in body
        assert b"ann@example.org" not in body
    assert CANARY not in log


def has_all(spans: Callable[[], Sequence[Span]]) -> bool:
    """Return whether all spans of an answer have arrived."""
    return len(spans()) >= 7


def check_texts(by_name: dict[str, dict[str, Any]], *, stream: bool) -> None:
    chat = by_name["chat m"]
    [asked] = json.loads(chat["gen_ai.input.messages"])
    assert asked["role"] == "user"
    [part] = asked["parts"]
    assert part["type"] == "text"
    assert CANARY in part["content"]
    assert "[redacted]" in part["content"]
    [answer] = json.loads(chat["gen_ai.output.messages"])
    assert (answer["role"], answer["finish_reason"]) == ("assistant", "stop")
    [part] = answer["parts"]
    assert part["content"].startswith("0 1 2" if stream else "Hello from the provider.")
    search, tool = by_name["retrieval COLLECTION"], by_name["execute_tool simple_rag"]
    assert "What do herons do?" in search["gen_ai.retrieval.query.text"]
    [document] = json.loads(search["gen_ai.retrieval.documents"])
    assert document["id"] == "herons.txt#0"
    assert document["score"] > 0
    assert "Herons stand still" in tool["gen_ai.tool.call.result"]


def check_names(by_name: dict[str, dict[str, Any]]) -> None:
    """Check the attributes for users and the kinds of spans."""
    request = by_name["POST /v1/chat/completions"]
    assert request["user.id"].startswith("user-")
    assert request["session.id"] == request["gen_ai.conversation.id"] == "chat-1"
    assert request["langfuse.trace.tags"] == ["organization:default", "assistant:file-1"]
    kinds = {name: each.get("gen_ai.operation.name") for name, each in by_name.items()}
    assert kinds == {
        "POST /v1/chat/completions": None,
        "invoke_agent file-1": "invoke_agent",
        "chat m": "chat",
        "execute_tool simple_rag": "execute_tool",
        "execute_tool word_count": "execute_tool",
        "retrieval COLLECTION": "retrieval",
        "embeddings all-MiniLM-L6-v2-int8": "embeddings",
    }
    assert by_name["chat m"]["gen_ai.request.model"] == "m"
    assert by_name["chat m"]["gen_ai.usage.input_tokens"] == 3


async def ask(client: Any, question: str, *, stream: bool = False) -> str:
    """Send a chat completion and return its request id."""
    body = {
        "model": "lamb_assistant.1",
        "messages": [{"role": "user", "content": question}],
        "stream": stream,
    }
    headers = {"x-openwebui-chat-id": "chat-1"}
    response = await client.post("/v1/chat/completions", json=body, headers=headers)
    assert response.is_success, response.text
    return str(response.headers["x-request-id"])


@pytest.fixture
def spans() -> Iterator[Recorded]:
    """What is exported if the operator wants texts."""
    content.switch(on=True)
    with recorded() as received:
        yield received
    content.switch(on=False)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("environment")
async def test_an_organisation_forbids_texts_and_wins_over_the_operator(
    tmp_path: Path,
    site: Library,  # noqa: F811 - the fixture
    spans: Recorded,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEDDLE_TRACES_SAMPLE", "1")
    script = [[calls("find", json.dumps({"title": CANARY}))], [says(f"Three {CANARY}.")]] * 1_000
    async with uni(tmp_path, site, *script) as (university, _):
        pins = await university.pins({"url": site.url})
        books = {"books": {"url": site.url, "tools": ["find"], "pins": pins}}
        await university.ask(books)
        assert CANARY in texts(spans)
        spans.exporter.clear()

        accounts: Any = account_pb2_grpc.AccountServiceStub(university.migration)
        request = account_pb2.GetOrganizationRequest(slug="uni")
        stored = await accounts.GetOrganization(request, **signed())
        settings = json.loads(stored.organization.settings_json)
        settings["telemetry"] = {"content": False}
        changed = account_pb2.Organization(slug="uni", settings_json=json.dumps(settings))
        await accounts.PutOrganization(
            account_pb2.PutOrganizationRequest(organization=changed, etag=stored.etag), **signed()
        )
        async with asyncio.timeout(30):  # services ask for the settings again after 5 seconds
            await university.ask(books)
            while CANARY in texts(spans):
                spans.exporter.clear()
                await university.ask(books)
    assert "execute_tool mcp" in {each.name for each in spans.spans}


def texts(spans: Recorded) -> str:
    return "".join(each.to_json() for each in spans.spans)
