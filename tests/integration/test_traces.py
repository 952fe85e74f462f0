"""Spans of a running Heddle, as a collector receives them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from integration.browser import browser
from integration.otlp_receiver import Receiver, receiving, stable, tree
from integration.processes import GATEWAY, MODULES, ONE_PROCESS, Processes, processes
from integration.provider import ENDLESS, providing
from integration.scraped import ASSISTANT, BIRDS, CANARY, upload
from integration.whole import write_assistant
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from patience import until

GOLDEN = {
    assistant: (Path(__file__).parents[1] / f"golden/traces/{name}.txt").read_text().splitlines()
    for assistant, name in (("1", "answer"), ("2", "agent"))
}
"""The spans of one answer of each assistant, without those of calls between processes."""
AGENT = """model: {connector: openai, model: m}
strategy: agent_rules
tools: [{type: fast_vector_search, mode: agent, config: {collections: [birds]}}]
"""
RPC = "heddle."
KEY, TRUSTED = "key-of-the-operator-1", "key-of-the-front-end-1"
GONE, LEFT = "3", "4"
"""Assistants whose model does not exist, and whose model never stops."""
ALL = tuple(MODULES)
CASES = [
    pytest.param(ONE_PROCESS, "1", id="one"),
    pytest.param(ALL, "1", id="many"),
    pytest.param(ALL, "0", id="many-without-multiplexing"),
]
"""All of them send their spans over HTTP."""
pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Traced:
    """A running Heddle with assistants and a document, and the receiver of its spans."""

    heddle: Processes
    client: httpx.AsyncClient
    receiver: Receiver


@asynccontextmanager
async def traced(folder: Path, modules: Sequence[str], **settings: str) -> AsyncIterator[Traced]:
    """Run Heddle, whose spans go to a receiver."""
    async with providing() as provider, receiving() as receiver:
        provider.missing = ("gone",)
        write_assistant(folder, "1", ASSISTANT.replace("MODEL", "m"))
        write_assistant(folder, "2", AGENT)
        for identifier, model in ((GONE, "gone"), (LEFT, ENDLESS)):
            write_assistant(folder, identifier, f"model: {{connector: openai, model: {model}}}\n")
        grpc = settings.get("OTEL_EXPORTER_OTLP_PROTOCOL") == "grpc"
        async with (
            processes(
                folder,
                modules,
                HEDDLE_CONNECTOR_OPENAI_BASE_URL=provider.url,
                HEDDLE_CONNECTOR_OPENAI_API_KEY="test",
                HEDDLE_TRACES_SAMPLE="1",
                OTEL_EXPORTER_OTLP_ENDPOINT=receiver.grpc if grpc else receiver.http,
                OTEL_BSP_SCHEDULE_DELAY="100",
                **settings,
            ) as heddle,
            browser(heddle.url) as client,
        ):
            await upload(client, "birds", "herons.txt", BIRDS + CANARY)
            await ingested(client)
            yield Traced(heddle, client, receiver)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Traced]:
    """Heddle in one process, whose spans go over gRPC."""
    folder = tmp_path_factory.mktemp("traced")
    async with traced(folder, ONE_PROCESS, OTEL_EXPORTER_OTLP_PROTOCOL="grpc") as running:
        yield running


async def test_one_process_exports_the_tree_without_any_text(one: Traced) -> None:
    await check_trees(one)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("modules", "multiplexing"), CASES)
async def test_many_processes_export_the_same_tree_without_any_text(
    tmp_path: Path, modules: Sequence[str], multiplexing: str
) -> None:
    async with traced(tmp_path, modules, HEDDLE_MULTIPLEXING=multiplexing) as running:
        await check_trees(running)


async def check_trees(running: Traced) -> None:
    receiver, client = running.receiver, running.client
    for assistant, stream in product(GOLDEN, (False, True)):
        request_id = await ask(client, assistant, stream=stream)
        spans = partial(receiver.of_request, request_id)
        golden = GOLDEN[assistant]
        await until(partial(has_all, spans, golden))
        assert tree(spans(), without=RPC) == golden
        assert len(spans()) > len(golden) or ONE_PROCESS[0] in running.heddle.running
        check_attributes(spans(), assistant, stream=stream)
        check_log_line(running.heddle, request_id, spans())
    for body in receiver.raw:
        assert CANARY.encode() not in body
        assert b"herons.txt" not in body


async def ingested(client: Any) -> None:
    """Wait until the document is in the collection."""
    counts = {"completed": 0}
    while not counts["completed"]:
        [store] = (await client.get("/v1/vector_stores")).json()["data"]
        counts = store["file_counts"]
        assert not counts["failed"]


def names(spans: Sequence[Span]) -> list[str]:
    """Return the names of spans that are not calls between processes."""
    return [span.name for span in spans if not span.name.startswith(RPC)]


def has_all(spans: Callable[[], Sequence[Span]], golden: Sequence[str]) -> bool:
    """Return whether as many spans have arrived as the golden tree has, and their parents."""
    arrived = spans()
    parents = {span.parent_span_id for span in arrived} - {b""}
    return len(names(arrived)) >= len(golden) and parents <= {span.span_id for span in arrived}


def check_log_line(heddle: Processes, request_id: str, spans: Sequence[Span]) -> None:
    """Check that the line of a request names its trace and its span."""
    [root] = [span for span in spans if not span.parent_span_id]
    module = next(each for each in (GATEWAY, *ONE_PROCESS) if each in heddle.running)
    text = heddle.log(module)
    [line] = [
        each
        for each in map(json.loads, text.splitlines())
        if (each["event"], each.get("request_id")) == ("request", request_id)
    ]
    assert (line["trace_id"], line["span_id"]) == (root.trace_id.hex(), root.span_id.hex())


def check_attributes(spans: Sequence[Span], assistant: str, *, stream: bool) -> None:
    by_name = {stable(span.name): attributes(span) for span in spans}
    chat = by_name["chat m"]
    assert (chat["gen_ai.provider.name"], chat["gen_ai.request.model"]) == ("openai", "m")
    assert chat["gen_ai.request.stream"] is stream
    assert chat["gen_ai.usage.input_tokens"] == 3
    answer = by_name[f"invoke_agent file-{assistant}"]
    assert answer["heddle.assistant.id"] == f"file-{assistant}"
    if assistant == "1":
        search, embedding = (
            by_name["retrieval COLLECTION"],
            by_name["embeddings all-MiniLM-L6-v2-int8"],
        )
        tool = by_name["execute_tool simple_rag"]
        assert tool["gen_ai.tool.type"] == "datastore"
        assert tool["heddle.tool.mode"] == "augment"
        assert tool["heddle.binding.id"]
        assert by_name["execute_tool word_count"]["gen_ai.tool.type"] == "function"
        assert search["db.system.name"] == "lancedb"
        assert search["heddle.retrieval.result_count"] == 1
        assert search["gen_ai.data_source.id"].startswith("vs_")
        assert embedding["gen_ai.embeddings.dimension.count"] == 384
    else:
        tool = by_name["execute_tool fast_vector_search"]
        assert (tool["heddle.tool.mode"], bool(tool["gen_ai.tool.call.id"])) == ("agent", True)
        decision = by_name["plan file-2"]
        assert decision["heddle.decision.decider"]
        assert decision["heddle.decision.iteration"] >= 1
    request = by_name["POST /v1/chat/completions"]
    assert (request["http.route"], request["http.response.status_code"]) == (
        "/v1/chat/completions",
        200,
    )


def attributes(span: Span) -> dict[str, Any]:
    """Return the attributes of a span by name."""
    return {each.key: plain(each.value) for each in span.attributes}


def plain(value: AnyValue) -> Any:
    """Return a value of OTLP; of a list, its values."""
    if value.WhichOneof("value") == "array_value":
        return [plain(each) for each in value.array_value.values]
    return getattr(value, str(value.WhichOneof("value")))


async def test_failures_and_cancellations_end_their_spans(one: Traced) -> None:
    path, client = "/v1/chat/completions", one.client
    body = {"messages": [{"role": "user", "content": "hi"}], "stream": True}
    refused = await client.post(path, json={**body, "model": f"lamb_assistant.{GONE}"})
    assert refused.status_code == 404
    endless = {**body, "model": f"lamb_assistant.{LEFT}"}
    async with client.stream("POST", path, json=endless) as response:
        left = str(response.headers["x-request-id"])
        await anext(response.aiter_bytes())

    failed = partial(one.receiver.of_request, str(refused.headers["x-request-id"]))
    cancelled = partial(one.receiver.of_request, left)
    await until(lambda: len(failed()) == 3 and len(cancelled()) == 3)
    assert {attributes(span).get("error.type") for span in failed()} == {None, "PROVIDER_REFUSED"}
    refusals = [span for span in failed() if span.status.code == Status.STATUS_CODE_ERROR]
    assert {span.name for span in refusals} == {"chat gone", f"invoke_agent file-{GONE}"}
    assert all(attributes(span)["heddle.cancelled"] for span in cancelled())


@pytest.mark.exhaustive
async def test_the_flag_of_a_client_counts_from_this_machine_and_with_a_trusted_key(
    tmp_path: Path,
) -> None:
    proxied, trusted = {"x-forwarded-for": "203.0.113.7"}, {"authorization": f"Bearer {TRUSTED}"}
    requests: list[tuple[str, dict[str, str]]] = [
        ("01", {}),
        ("01", {**proxied, **trusted}),
        ("00", trusted),
        ("01", proxied),
        ("01", {**proxied, "authorization": f"Bearer {KEY}"}),
    ]
    async with (
        receiving() as receiver,
        processes(
            tmp_path,
            ONE_PROCESS,
            HEDDLE_GATEWAY_DEVELOPMENT="0",
            HEDDLE_GATEWAY_API_KEY=KEY,
            HEDDLE_GATEWAY_TRUSTED_API_KEY=TRUSTED,
            HEDDLE_TRACES_SAMPLE="0",
            OTEL_EXPORTER_OTLP_ENDPOINT=receiver.http,
        ) as heddle,
        browser(heddle.url) as client,
    ):
        for number, (flag, headers) in enumerate(requests, 1):
            context = f"00-{number:032x}-b7ad6b7169203331-{flag}"
            sent = {"authorization": f"Bearer {KEY}", **headers, "traceparent": context}
            assert (await client.get("/v1/models", headers=sent)).is_success
        heddle.running[ONE_PROCESS[0]].terminate()
        await asyncio.to_thread(heddle.running[ONE_PROCESS[0]].wait)
    traces = {int(span.trace_id.hex(), 16) for span in receiver.spans}
    assert traces == {1, 2}
    assert {span.parent_span_id.hex() for span in receiver.spans} == {"b7ad6b7169203331"}


async def ask(client: Any, assistant: str, *, stream: bool) -> str:
    """Send a chat completion and return its request id."""
    # Each question is another one: searches remember their answers to equal ones.
    question = f"What do herons do? {assistant} {stream} {CANARY}"
    messages = [{"role": "user", "content": question}]
    body = {"model": f"lamb_assistant.{assistant}", "messages": messages, "stream": stream}
    response = await client.post("/v1/chat/completions", json=body)
    assert response.is_success, response.text
    return str(response.headers["x-request-id"])
