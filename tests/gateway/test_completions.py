"""The chat endpoints, over HTTP, with the services over gRPC and within the process."""

import asyncio
import json

import pytest
from gateway.conftest import Bench, Start
from gateway.neighbours import DONE, HELLO, Step, text
from google.protobuf.duration_pb2 import Duration
from heddle.chat.v1.chat_pb2 import ModelReplaced
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent, ToolFinished, ToolStarted
from heddle_runtime.errors import (
    ConflictError,
    DeadlineError,
    HeddleError,
    InvalidRequestError,
    MalformedAssistantError,
    NotFoundError,
    PermissionDeniedError,
    ProviderGarbledError,
    ProviderRefusedError,
    ResourceExhaustedError,
    UnavailableError,
    Violation,
)
from optional_member import of_member

TOOL_RAN = RunEvent(
    tool_finished=ToolFinished(binding_id="b", tool="rubric", elapsed=Duration(seconds=1))
)


def data(body: str) -> list[str]:
    """Return the data of each server-sent event."""
    return [piece.removeprefix("data: ") for piece in body.split("\n\n") if piece[:1] != ":"][:-1]


async def test_a_whole_answer_has_all_required_members(bench: Bench) -> None:
    answer = (await bench.chat()).json()
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "lamb_assistant.1"
    assert answer["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello", "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert answer["usage"]["total_tokens"] == 10
    assert bench.orchestrator.whole_requests == 1


async def test_a_streamed_answer_ends_with_done(bench: Bench) -> None:
    response = await bench.chat(stream=True)
    assert response.headers["content-type"] == "text/event-stream"
    assert response.headers["x-accel-buffering"] == "no"
    sent = data(response.text)
    assert sent[-1] == "[DONE]"
    chunks = [json.loads(item) for item in sent[:-1]]
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == "Hello"
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) == 1


@pytest.mark.parametrize("path", ["/chat/completions", "/v1/chat/completions/"])
async def test_the_endpoint_has_several_spellings(bench: Bench, path: str) -> None:
    body = {"model": "1", "messages": [{"role": "user", "content": "hi"}]}
    assert (await bench.client.post(path, json=body)).status_code == 200


@of_member
@pytest.mark.parametrize("slash", ["", "/"])
async def test_lambs_own_endpoint_names_the_assistant_in_its_address(
    bench: Bench, slash: str
) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}]}
    path = f"/lamb/v1/completions{slash}"
    response = await bench.client.post(path, params={"assistant": "7"}, json=body)
    assert response.json()["model"] == "lamb_assistant.7"
    assert bench.orchestrator.requests[0].assistant_reference == "7"
    missing = await bench.client.post(path, json=body)
    assert (missing.status_code, missing.json()["error"]["param"]) == (400, "assistant")


FAILURES: list[tuple[HeddleError, int, str | None]] = [
    (InvalidRequestError("Wrong."), 400, None),
    (NotFoundError("No assistant is named 'x'."), 404, "model_not_found"),
    (PermissionDeniedError("No."), 403, "permission_denied"),
    (ConflictError("Changed."), 409, "conflict"),
    (MalformedAssistantError("Unreadable."), 422, "malformed_assistant"),
    (ResourceExhaustedError("Full."), 429, "rate_limit_exceeded"),
    (ProviderGarbledError("Garbage."), 502, "provider_garbled"),
    (UnavailableError("Down."), 503, "service_unavailable"),
    (DeadlineError("Late."), 504, "deadline_exceeded"),
    (HeddleError("Broken."), 500, "internal_error"),
    (ProviderRefusedError("Long.", http_status="400", provider_code="too_long"), 400, "too_long"),
    (ProviderRefusedError("Bad key.", http_status="401"), 502, "provider_credentials_refused"),
    (ProviderRefusedError("Odd.", http_status="200"), 502, None),
]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
async def test_a_failure_before_the_first_byte_has_its_status(bench: Bench, stream: bool) -> None:
    for error, status, code in FAILURES:
        bench.orchestrator.script = [error]
        response = await bench.chat(stream=stream)
        told = response.json()["error"]
        assert (response.status_code, told["code"]) == (status, code)
        assert set(told) == {"message", "type", "param", "code", "documentation_url"}
        assert error.message in told["message"]


async def test_retry_after_and_the_wrong_member_are_told(bench: Bench) -> None:
    bench.orchestrator.script = [ResourceExhaustedError("Full.", retry_after=1.2)]
    assert (await bench.chat()).headers["retry-after"] == "2"
    violation = Violation("options.temperature", "is too hot")
    bench.orchestrator.script = [InvalidRequestError("Wrong.", [violation])]
    told = (await bench.chat()).json()["error"]
    assert told["param"] == "temperature"
    assert told["message"] == "Wrong. temperature: is too hot"


async def test_an_unexpected_failure_shows_no_cause(bench: Bench) -> None:
    bench.orchestrator.script = [RuntimeError("postgresql://lamb:s3cret@db")]
    response = await bench.chat()
    assert response.status_code == 500
    assert "s3cret" not in response.text
    assert "Traceback" not in response.text


async def test_a_failure_after_the_first_byte_ends_the_stream_with_an_error(bench: Bench) -> None:
    started = RunEvent(tool_started=ToolStarted(binding_id="b", tool="rubric"))
    bench.orchestrator.script = [[started], UnavailableError("Down.")]
    response = await bench.chat(stream=True)
    *frames, end = data(response.text)
    sent = [json.loads(item) for item in frames]
    assert (response.status_code, end) == (200, "[DONE]")
    identifier = response.headers["x-request-id"]
    assert sent[-1]["error"]["message"] == f"Down. (request {identifier})"
    assert sent[-2]["event"]["data"]["done"] is True  # or the line would shimmer for ever


@pytest.mark.parametrize("stream", [False, True])
async def test_no_client_repeats_by_itself_what_ran_tools(bench: Bench, stream: bool) -> None:
    bench.orchestrator.script = [[TOOL_RAN], UnavailableError("Down.")]
    response = await bench.chat(stream=stream, headers={"x-heddle-events": "none"})
    assert response.status_code == 503
    assert response.headers["x-should-retry"] == "false"
    bench.orchestrator.script = [UnavailableError("Down.")]
    assert "x-should-retry" not in (await bench.chat(stream=stream)).headers


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_was_cut_is_an_error(bench: Bench, stream: bool) -> None:
    bench.orchestrator.script = [[text("half an")]]
    response = await bench.chat(stream=stream)
    if stream:
        assert json.loads(data(response.text)[-2])["error"]["code"] == "provider_garbled"
    else:
        assert response.status_code == 502


async def test_the_deadline_is_told(start: Start, transport: str) -> None:
    async with start(transport, deadline_seconds=0.2) as bench:
        bench.orchestrator.script = [5.0]
        response = await bench.chat()
    assert response.status_code == 504
    assert response.headers["x-should-retry"] == "false"


async def test_the_head_goes_out_with_the_first_event(bench: Bench) -> None:
    bench.orchestrator.script = [HELLO[0], 0.4, [text("a"), DONE]]
    body = {"model": "1", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    async with bench.client.stream("POST", "/v1/chat/completions", json=body) as response:
        assert bench.orchestrator.running == 1
        pieces = [piece async for piece in response.aiter_text()]
    assert '"thinking"' in pieces[0]
    assert "[DONE]" not in pieces[0]


@pytest.mark.parametrize("first", [[], [[text("a")]]])
async def test_a_silent_stream_sends_comments(
    start: Start, transport: str, first: list[Step]
) -> None:
    async with start(transport, keep_alive_seconds=0.05) as bench:
        bench.orchestrator.script = [*first, 0.3, [text("b"), DONE]]
        response = await bench.chat(stream=True)
    assert response.text.count(": keep-alive\n\n") >= 2
    assert data(response.text)[-1] == "[DONE]"


async def test_progress_can_be_chosen_by_header_and_setting(start: Start) -> None:
    async with start(events="none") as bench:
        assert "thinking" not in (await bench.chat(stream=True)).text
        asked = {"x-heddle-events": "reasoning"}
        assert '"reasoning_content":"thinking' in (await bench.chat(asked, stream=True)).text
        wrong = await bench.chat({"x-heddle-events": "loud"}, stream=True)
    assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "x-heddle-events")


async def test_too_many_requests_at_once_are_refused_at_once(start: Start) -> None:
    async with start(max_concurrent_calls=1) as both, both.of_one_gateway() as bench:
        bench.orchestrator.script = [[text("a")], 1.0, [DONE]]
        body = {"model": "1", "messages": [{"role": "user", "content": "hi"}], "stream": True}
        async with bench.client.stream("POST", "/v1/chat/completions", json=body) as response:
            texts = response.aiter_text()  # a reference, or the response ends here
            await anext(texts)
            for refused in (await bench.chat(), await bench.client.get("/assistants")):
                assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
                assert refused.json()["error"]["message"] == "The gateway is busy. Try again."
            assert (await bench.client.get("/health")).status_code == 200
            assert (await bench.client.get("/status")).status_code == 200
        async with asyncio.timeout(5):  # a gateway hears a little later that its client has left
            while (await bench.client.get("/assistants")).status_code != 200:
                await asyncio.sleep(0.01)


async def test_the_request_id_travels_and_returns(bench: Bench) -> None:
    sane = await bench.chat(
        {"x-request-id": "abc-1", "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    )
    assert sane.headers["x-request-id"] == "abc-1"
    assert bench.orchestrator.callers[0].request_id == "abc-1"
    assert bench.orchestrator.callers[0].traceparent.startswith("00-aaa")
    strange = await bench.chat({"x-request-id": 'a"b c', "traceparent": "x"})
    assert strange.headers["x-request-id"].startswith("req_")
    assert bench.orchestrator.callers[1].traceparent == ""


async def test_functions_of_the_client_are_called_by_the_client(bench: Bench) -> None:
    call = RunEvent()
    call.tool_call.id, call.tool_call.name, call.tool_call.arguments_json = "c1", "f", "{}"
    bench.orchestrator.script = [[call, DONE]]
    choice = (await bench.chat()).json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert choice["message"]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}


async def test_a_model_that_another_one_stands_in_for_is_told(bench: Bench) -> None:
    replaced = ModelReplaced(requested="openai/göne\r\nx: y", replacement="openai/gpt-4o (new)")
    bench.orchestrator.script = [[RunEvent(model_replaced=replaced), text("hi"), DONE]]
    whole = await bench.chat()
    assert whole.headers["x-heddle-warning"] == (
        "openai/g%C3%B6ne%0D%0Ax: y is not available, openai/gpt-4o (new) answers"
    )
    streamed = await bench.chat(stream=True)
    chunks = [json.loads(each) for each in data(streamed.text)[:-1]]
    first = next(chunk["event"]["data"] for chunk in chunks if "event" in chunk)
    assert (first["action"], first["done"]) == ("heddle.model", False)
    assert "gpt-4o (new) answers" in first["description"]
    bench.orchestrator.script = HELLO
    assert "x-heddle-warning" not in (await bench.chat()).headers


async def test_a_client_that_reads_slowly_is_told_of_a_failure(start: Start) -> None:
    async with start("local", keep_alive_seconds=0.1) as bench:
        # More than the machine keeps on the way, so that a comment waits behind it.
        bench.orchestrator.script = [
            [text("x" * 20_000_000)],
            0.5,
            ProviderGarbledError("It broke."),
        ]
        asked = {"model": "1", "messages": [{"role": "user", "content": "hi"}], "stream": True}
        async with bench.client.stream("POST", "/v1/chat/completions", json=asked) as response:
            await asyncio.sleep(1.5)
            told = (await response.aread())[-300:]
    assert b"It broke." in told
    assert told.endswith(b"data: [DONE]\n\n")
