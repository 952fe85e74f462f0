"""Spans of a running Heddle, as a collector receives them."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from integration.browser import browser
from integration.otlp_receiver import receiving, tree
from integration.processes import MODULES, ONE_PROCESS, processes
from integration.provider import ENDLESS, providing
from integration.scraped import ASSISTANT, BIRDS, CANARY, upload
from integration.whole import write_assistant
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from patience import until
from runtime.ports import free_port

GOLDEN = (Path(__file__).parents[1] / "golden/traces/answer.txt").read_text().splitlines()
"""The spans of one answer, without those of calls between processes."""
RPC = "heddle."
CASES = [(ONE_PROCESS, "http/protobuf"), (ONE_PROCESS, "grpc"), (tuple(MODULES), "http/protobuf")]


@pytest.mark.parametrize(("modules", "protocol"), CASES, ids=["one", "one-grpc", "many"])
async def test_one_process_and_many_export_the_same_tree_without_any_text(
    tmp_path: Path, modules: Sequence[str], protocol: str
) -> None:
    async with providing() as provider, receiving() as receiver:
        write_assistant(tmp_path, "1", ASSISTANT.replace("MODEL", "m"))
        endpoint = receiver.grpc if protocol == "grpc" else receiver.http
        async with (
            processes(
                tmp_path,
                modules,
                HEDDLE_CONNECTOR_OPENAI_BASE_URL=provider.url,
                HEDDLE_CONNECTOR_OPENAI_API_KEY="test",
                HEDDLE_TRACES_SAMPLE="1",
                OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
                OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
                OTEL_BSP_SCHEDULE_DELAY="100",
            ) as heddle,
            browser(heddle.url) as client,
        ):
            await upload(client, "birds", "herons.txt", BIRDS + CANARY)
            for stream in (False, True):
                request_id = await ask(client, stream=stream)
                spans = partial(receiver.of_request, request_id)
                await until(partial(has_all, spans))
                assert tree(spans(), without=RPC) == GOLDEN
                assert len(spans()) > len(GOLDEN) or modules == ONE_PROCESS
                check_attributes(spans(), stream=stream)
    for body in receiver.raw:
        assert CANARY.encode() not in body
        assert b"herons.txt" not in body


def names(spans: Sequence[Span]) -> list[str]:
    """Return the names of spans that are not calls between processes."""
    return [span.name for span in spans if not span.name.startswith(RPC)]


def has_all(spans: Callable[[], Sequence[Span]]) -> bool:
    """Return whether as many spans have arrived as the golden tree has."""
    return len(names(spans())) >= len(GOLDEN)


def check_attributes(spans: Sequence[Span], *, stream: bool) -> None:
    by_name = {span.name: attributes(span) for span in spans}
    chat = by_name["chat m"]
    assert (chat["gen_ai.provider.name"], chat["gen_ai.request.model"]) == ("openai", "m")
    assert chat["gen_ai.request.stream"] is stream
    assert chat["gen_ai.usage.input_tokens"] == 3
    answer = by_name["invoke_agent file-1"]
    assert answer["heddle.assistant.id"] == "file-1"
    request = by_name["POST /v1/chat/completions"]
    assert (request["http.route"], request["http.response.status_code"]) == (
        "/v1/chat/completions",
        200,
    )


def attributes(span: Span) -> dict[str, Any]:
    """Return the attributes of a span by name."""
    return {
        each.key: getattr(each.value, str(each.value.WhichOneof("value")))
        for each in span.attributes
    }


async def test_failures_and_cancellations_end_their_spans(tmp_path: Path) -> None:
    async with providing() as provider, receiving() as receiver:
        provider.missing = ("gone",)
        for identifier, model in (("1", "gone"), ("2", ENDLESS)):
            write_assistant(tmp_path, identifier, f"model: {{connector: openai, model: {model}}}\n")
        async with (
            processes(
                tmp_path,
                ONE_PROCESS,
                HEDDLE_CONNECTOR_OPENAI_BASE_URL=provider.url,
                HEDDLE_CONNECTOR_OPENAI_API_KEY="test",
                HEDDLE_TRACES_SAMPLE="1",
                OTEL_EXPORTER_OTLP_ENDPOINT=receiver.http,
                OTEL_BSP_SCHEDULE_DELAY="100",
            ) as heddle,
            browser(heddle.url) as client,
        ):
            body = {"messages": [{"role": "user", "content": "hi"}], "stream": True}
            refused = await client.post(
                "/v1/chat/completions", json={**body, "model": "lamb_assistant.1"}
            )
            assert refused.status_code == 404
            path, endless = "/v1/chat/completions", {**body, "model": "lamb_assistant.2"}
            async with client.stream("POST", path, json=endless) as response:
                left = str(response.headers["x-request-id"])
                await anext(response.aiter_bytes())

            failed = partial(receiver.of_request, str(refused.headers["x-request-id"]))
            cancelled = partial(receiver.of_request, left)
            await until(lambda: len(failed()) == 3 and len(cancelled()) == 3)
    assert {attributes(span).get("error.type") for span in failed()} == {None, "PROVIDER_REFUSED"}
    refusals = [span for span in failed() if span.status.code == Status.STATUS_CODE_ERROR]
    assert {span.name for span in refusals} == {"chat gone", "invoke_agent file-1"}
    assert all(attributes(span)["heddle.cancelled"] for span in cancelled())


async def test_a_client_keeps_its_trace_id_and_cannot_have_a_request_traced(
    tmp_path: Path,
) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    sent = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    for share in ("1", "0"):
        async with (
            receiving() as receiver,
            processes(
                tmp_path,
                ONE_PROCESS,
                HEDDLE_TRACES_SAMPLE=share,
                OTEL_EXPORTER_OTLP_ENDPOINT=receiver.http,
                OTEL_BSP_SCHEDULE_DELAY="100",
            ) as heddle,
            browser(heddle.url) as client,
        ):
            assert (await client.get("/v1/models", headers=sent)).is_success
            heddle.running[ONE_PROCESS[0]].terminate()
            await asyncio.to_thread(heddle.running[ONE_PROCESS[0]].wait)
        spans = [span for span in receiver.spans if span.trace_id.hex() == trace]
        parents = {span.parent_span_id.hex() for span in spans}
        assert parents == ({"b7ad6b7169203331"} if share == "1" else set())
        assert share == "1" or receiver.spans == []


async def test_without_a_collector_that_listens_requests_are_answered_all_the_same(
    tmp_path: Path,
) -> None:
    async with providing() as provider:
        write_assistant(tmp_path, "1", "model: {connector: openai, model: m}\n")
        async with (
            processes(
                tmp_path,
                ONE_PROCESS,
                HEDDLE_CONNECTOR_OPENAI_BASE_URL=provider.url,
                HEDDLE_CONNECTOR_OPENAI_API_KEY="test",
                HEDDLE_TRACES_SAMPLE="1",
                OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{free_port()}",
                OTEL_BSP_SCHEDULE_DELAY="50",
            ) as heddle,
            browser(heddle.url) as client,
        ):
            for stream in (False, True):
                for _ in range(20):
                    await ask(client, stream=stream)


async def ask(client: Any, *, stream: bool) -> str:
    """Send a chat completion and return its request id."""
    messages = [{"role": "user", "content": f"What do herons do? {CANARY}"}]
    body = {"model": "lamb_assistant.1", "messages": messages, "stream": stream}
    response = await client.post("/v1/chat/completions", json=body)
    assert response.is_success, response.text
    return str(response.headers["x-request-id"])
