"""`/v1/messages`: what is ordered, what is refused, and what Anthropic's clients receive."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic
from anthropic.types import MessageParam, ToolParam
from gateway.conftest import KEY, Bench
from gateway.neighbours import DONE, text
from gateway.test_stream_encoder import STARTED
from heddle.chat.v1 import chat_pb2
from heddle.chat.v1.chat_pb2 import Done, ToolCall, Usage
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent, Sources
from heddle.tool.v1.tool_pb2 import Source
from heddle_gateway.auth.sealed_texts import SealedTexts
from heddle_gateway.http.error_responses import from_exception
from heddle_gateway.openai.anthropic.endpoint import MessagesRequest, estimate, parse_request
from heddle_gateway.openai.chat.event_encoder import Answer
from heddle_runtime.errors import HeddleError, ResourceExhaustedError, UnavailableError
from pydantic import SecretStr

SEALED = SealedTexts(SecretStr("s" * 32), b"test")
PNG = {"type": "base64", "media_type": "image/png", "data": b64encode(b"x").decode()}
PDF = {"type": "base64", "media_type": "application/pdf", "data": b64encode(b"%PDF").decode()}
LOOK: ToolParam = {"name": "look", "description": "Look.", "input_schema": {"type": "object"}}
HOSTED = {"type": "web_search_20260318", "name": "web_search", "max_uses": 5}
HI: list[MessageParam] = [{"role": "user", "content": "hi"}]
SOURCES = RunEvent(
    sources=Sources(
        binding_id="b1",
        sources=[
            Source(title="A", uri="https://e/a", excerpt="x" * 200),
            Source(title="B", attributes={"file_id": "file-1"}),
            Source(title="A again", uri="https://e/a"),
        ],
    )
)
THOUGHT = RunEvent(reasoning_delta="Hm.")


def parsed(content: object = "hi", **body: object) -> MessagesRequest:
    messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
    members = {"model": "m", "max_tokens": 100, "messages": messages, **body}
    return parse_request(json.dumps(members).encode(), SEALED)


def block(**members: object) -> list[dict[str, object]]:
    return [{"role": "user", "content": [members]}]


def tool_call(name: str = "look", arguments: str = "{}", **members: Any) -> RunEvent:
    return RunEvent(tool_call=ToolCall(id="c1", name=name, arguments_json=arguments, **members))


def answered(request: MessagesRequest, *events: RunEvent) -> dict[str, Any]:
    encoder = request.encoder(Answer("r1"), streamed=False)
    encoder.encode(events)
    answer: dict[str, Any] = json.loads(encoder.body())
    return answer


def framed(request: MessagesRequest, *batches: list[RunEvent]) -> list[dict[str, Any]]:
    """Read frames as a strict client does."""
    encoder = request.encoder(Answer("r1"))
    sent = b"".join(encoder.encode(batch) for batch in batches).decode()
    frames = []
    for frame in sent.removesuffix("\n\n").split("\n\n"):
        event, data = frame.split("\n")
        frames.append(json.loads(data.removeprefix("data: ")))
        assert event == f"event: {frames[-1]['type']}"
    return [frame for frame in frames if frame["type"] != "ping"]


def blocks_of(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put the content together; blocks follow each other, as clients expect."""
    content: list[dict[str, Any]] = []
    is_open = False
    for frame in frames:
        match frame["type"]:
            case "content_block_start":
                assert not is_open
                assert frame["index"] == len(content)
                content.append(dict(frame["content_block"]))
                is_open = True
            case "content_block_delta":
                delta = frame["delta"]
                member = delta["type"].removesuffix("_delta")
                if member == "citations":
                    content[-1].setdefault("citations", []).append(delta["citation"])
                elif member == "input_json":
                    content[-1]["input"] = json.loads(delta["partial_json"])
                else:
                    content[-1][member] += delta[member]
            case "content_block_stop":
                assert frame["index"] == len(content) - 1
                is_open = False
            case _:
                pass
    assert not is_open
    return content


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"content": []}, "messages"),
        ({"content": [{"role": "wizard", "content": "a"}]}, "messages[0].role"),
        ({"content": block()}, "messages[0].content[0].type"),
        ({"content": block(type="audio")}, "messages[0].content[0].type"),
        (
            {"content": block(type="image", source={"type": "file", "file_id": "file-1"})},
            "messages[0].content[0].source",
        ),
        (
            {"content": block(type="image", source={"type": "url", "url": "http://a"})},
            "messages[0].content[0].source.url",
        ),
        (
            {"content": block(type="document", source={"type": "url", "url": "https://a"})},
            "messages[0].content[0].source",
        ),
        ({"content": block(type="tool_result")}, "messages[0].content[0].tool_use_id"),
        ({"tools": [{"name": "look"}]}, "tools[0].input_schema"),
        ({"tools": [LOOK, LOOK]}, "tools[1].name"),
        ({"tools": [LOOK], "tool_choice": {"type": "tool", "name": "b"}}, "tool_choice.name"),
        ({"tool_choice": "any"}, "tool_choice"),
        ({"temperature": 1.5}, "temperature"),
        ({"stop_sequences": ["a"] * 5}, "stop_sequences"),
        ({"output_config": {"effort": "huge"}}, "output_config.effort"),
    ],
)
def test_a_wrong_member_is_named(body: dict[str, Any], param: str) -> None:
    with pytest.raises(HeddleError) as caught:
        parsed(**body)
    error = from_exception(caught.value).for_path("/v1/messages", "r1")
    assert (error.status, error.param, error.type) == (400, param, "invalid_request_error")
    assert json.loads(error.json())["type"] == "error"


def test_blocks_become_messages() -> None:
    run = parsed(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
                    {"type": "image", "source": PNG},
                    {"type": "document", "source": PDF, "title": "b.pdf"},
                    {
                        "type": "document",
                        "source": {"type": "text", "media_type": "text/plain", "data": "c"},
                    },
                    {
                        "type": "search_result",
                        "source": "https://e",
                        "title": "D",
                        "content": [{"type": "text", "text": "d"}],
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": ""},
                    {"type": "text", "text": "e"},
                    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                    {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
                    {"type": "tool_use", "id": "1", "name": "look", "input": {"a": 1.0}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "f", "is_error": True},
                    {
                        "type": "tool_result",
                        "tool_use_id": "2",
                        "content": [{"type": "text", "text": "g"}],
                    },
                    {"type": "text", "text": "h"},
                ],
            },
            {"role": "system", "content": "i"},
        ],
        system=[{"type": "text", "text": "Be kind."}, {"type": "text", "text": "Be brief."}],
    ).run
    system, user, assistant, first, second, last, more = run.messages
    assert [each.text for each in system.parts] == ["Be kind.", "Be brief."]
    assert system.role == more.role == chat_pb2.ROLE_DEVELOPER
    question, image, file, plain, hit = user.parts
    assert (question.text, plain.text, hit.text) == ("a", "c", "D (https://e)\nd")
    assert (image.image.data, image.image.media_type) == (b"x", "image/png")
    assert (file.file.data, file.file.filename) == (b"%PDF", "b.pdf")
    assert [each.text for each in assistant.parts] == ["e"]
    assert assistant.tool_calls[0].arguments_json == '{"a": 1.0}'
    results = [(each.tool_call_id, each.parts[-1].text) for each in (first, second)]
    assert results == [("1", "f"), ("2", "g")]
    assert first.parts[0].text == "[The tool failed.]"
    assert (last.role, last.parts[0].text) == (chat_pb2.ROLE_USER, "h")


@pytest.mark.parametrize(
    ("body", "extra"),
    [
        ({}, {}),
        ({"tools": [LOOK], "tool_choice": {"type": "auto"}}, {}),
        ({"tools": [LOOK], "tool_choice": {"type": "any"}}, {"tool_choice": "required"}),
        ({"tools": [LOOK], "tool_choice": {"type": "none"}}, {"tool_choice": "none"}),
        (
            {
                "tools": [LOOK],
                "tool_choice": {"type": "tool", "name": "look", "disable_parallel_tool_use": True},
            },
            {
                "tool_choice": {"type": "function", "function": {"name": "look"}},
                "parallel_tool_calls": False,
            },
        ),
        ({"tools": [HOSTED], "tool_choice": {"type": "any"}}, {}),
        (
            {"tools": [LOOK, HOSTED], "tool_choice": {"type": "tool", "name": HOSTED["name"]}},
            {},
        ),
        # What Claude Code sends unasked does not reach models that refuse it.
        ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}, {}),
        ({"output_config": {"effort": "low"}}, {"reasoning_effort": "low"}),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 50}},
            {"reasoning_effort": "medium"},
        ),
        ({"thinking": {"type": "enabled", "budget_tokens": 90}}, {"reasoning_effort": "high"}),
        (
            {"output_config": {"format": {"type": "json_schema", "schema": {"a": 1.0}}}},
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": {"a": 1.0}, "strict": True},
                }
            },
        ),
    ],
)
def test_options_reach_the_model_in_the_form_of_chat_completions(
    body: dict[str, Any], extra: dict[str, Any]
) -> None:
    request = parsed(temperature=0.2, stop_sequences=["x"], metadata={"user_id": "u"}, **body)
    options = request.run.options
    assert (options.max_tokens, options.temperature, [*options.stop]) == (100, 0.2, ["x"])
    assert json.loads(options.extra_json or "{}") == extra


def test_hosted_tools_are_left_out_with_a_warning() -> None:
    request = parsed(tools=[HOSTED, LOOK])
    assert [each.name for each in request.run.functions] == ["look"]
    assert request.warnings == ("Heddle does not offer the tool web_search; it was left out",)


@pytest.mark.parametrize("streamed", [False, True])
def test_content_has_the_order_that_clients_expect(*, streamed: bool) -> None:
    events = [
        THOUGHT,
        STARTED,
        SOURCES,
        text("Hel"),
        text("lo"),
        tool_call(arguments='{"a":1}'),
        DONE,
    ]
    request = parsed(tools=[LOOK])
    if streamed:
        frames = framed(request, *([each] for each in events))
        assert [frames[0]["type"], frames[-1]["type"]] == ["message_start", "message_stop"]
        end, content = frames[-2], blocks_of(frames)
        reason, usage = end["delta"]["stop_reason"], end["usage"]
    else:
        message = answered(request, *events)
        content, reason, usage = message["content"], message["stop_reason"], message["usage"]
    thought, reply, call = content
    assert thought == {"type": "thinking", "thinking": "Hm.", "signature": ""}
    assert reply["text"] == "Hello"
    assert [(each["type"], each["title"]) for each in reply["citations"]] == [
        ("web_search_result_location", "A"),
        ("search_result_location", "B"),
    ]
    assert reply["citations"][1]["source"] == "file-1"
    assert call == {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}}
    assert (reason, usage["input_tokens"], usage["output_tokens"]) == ("tool_use", 7, 3)


def test_what_a_provider_needs_back_returns_with_the_calls_of_the_same_caller_only() -> None:
    request = parsed(tools=[LOOK])
    done = Done(message_extra_json='{"reasoning_details":[1]}')
    events = [tool_call(extra_json='{"extra_content":{"a":1}}'), RunEvent(done=done)]
    whole = answered(request, *events)["content"]
    streamed = blocks_of(framed(request, events))
    for sealed, call in (whole, streamed):
        assert sealed["type"] == "redacted_thinking"
        again = parsed([{"role": "assistant", "content": [sealed, call]}]).run.messages[0]
        assert json.loads(again.extra_json) == {"reasoning_details": [1]}
        assert json.loads(again.tool_calls[0].extra_json) == {"extra_content": {"a": 1}}
        of_other = [{"role": "assistant", "content": [sealed, call]}]
        assert not parsed(of_other, model="other").run.messages[0].extra_json


@pytest.mark.parametrize(
    ("done", "reason", "sequence"),
    [
        (Done(finish_reason=chat_pb2.FINISH_REASON_STOP), "end_turn", None),
        (Done(finish_reason=chat_pb2.FINISH_REASON_LENGTH), "max_tokens", None),
        (Done(finish_reason=chat_pb2.FINISH_REASON_CONTENT_FILTER), "refusal", None),
        (
            Done(
                finish_reason=chat_pb2.FINISH_REASON_STOP,
                provider_metadata_json='{"stop_reason":"stop_sequence","stop_sequence":"x"}',
            ),
            "stop_sequence",
            "x",
        ),
    ],
)
def test_the_reason_of_the_end(done: Done, reason: str, sequence: str | None) -> None:
    usage = Usage(prompt_tokens=9, cached_tokens=4, completion_tokens=2)
    done.usage.CopyFrom(usage)
    message = answered(parsed(), text("a"), RunEvent(done=done))
    assert (message["stop_reason"], message["stop_sequence"]) == (reason, sequence)
    counts = message["usage"]
    assert (counts["input_tokens"], counts["cache_read_input_tokens"]) == (5, 4)


def test_an_estimate_counts_texts_tools_and_images() -> None:
    assert estimate(parsed("a" * 40).run) == 10
    assert estimate(parsed("a" * 40, tools=[LOOK]).run) > 15
    assert estimate(parsed(block(type="image", source=PNG)).run) == 1_600


@pytest.fixture
async def sdk(bench: Bench) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(base_url=bench.url, api_key=KEY, max_retries=0) as client:
        yield client


async def test_the_sdk_reads_a_whole_message(sdk: AsyncAnthropic, bench: Bench) -> None:
    bench.orchestrator.script = [[THOUGHT, STARTED, SOURCES, text("Hello"), DONE]]
    message = await sdk.messages.create(model="lamb_assistant.1", max_tokens=10, messages=HI)
    thought, reply = message.content
    assert (thought.type, reply.type) == ("thinking", "text")
    assert reply.type == "text"
    assert [each.type for each in reply.citations or ()] == [
        "web_search_result_location",
        "search_result_location",
    ]
    assert (message.stop_reason, message.usage.output_tokens) == ("end_turn", 3)
    assert message._request_id  # noqa: SLF001 - the SDK's documented name
    assert bench.orchestrator.whole_requests == 1


async def test_the_sdk_streams_two_turns_with_a_tool(sdk: AsyncAnthropic, bench: Bench) -> None:
    bench.orchestrator.script = [
        [THOUGHT],
        [text("Well: ")],
        [tool_call(arguments='{"a":1}'), DONE],
    ]
    conversation = list(HI)
    async with sdk.messages.stream(
        model="m", max_tokens=10, messages=conversation, tools=[LOOK]
    ) as stream:
        reply = [each async for each in stream.text_stream]
        message = await stream.get_final_message()
    call = message.content[-1]
    assert (reply, message.stop_reason) == (["Well: "], "tool_use")
    assert call.type == "tool_use"
    assert call.input == {"a": 1}
    conversation += [
        {"role": "assistant", "content": message.content},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "2"}],
        },
    ]
    bench.orchestrator.script = [[text("Done."), DONE]]
    last = await sdk.messages.create(model="m", max_tokens=10, messages=conversation, tools=[LOOK])
    assert last.content[0].type == "text"
    roles = [each.role for each in bench.orchestrator.requests[-1].messages]
    assert roles == [chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT, chat_pb2.ROLE_TOOL]


async def test_failures_before_and_in_a_stream(sdk: AsyncAnthropic, bench: Bench) -> None:
    failures: tuple[tuple[HeddleError, type[anthropic.APIStatusError], str], ...] = (
        (ResourceExhaustedError("Full.", retry_after=3), anthropic.RateLimitError, "rate_limit"),
        (UnavailableError("Down."), anthropic.InternalServerError, "overloaded"),
    )
    for error, expected, kind in failures:
        bench.orchestrator.script = [error]
        for stream in (False, True):
            with pytest.raises(expected) as caught:
                await sdk.messages.create(model="m", max_tokens=1, messages=HI, stream=stream)
            assert isinstance(caught.value.body, dict)
            assert caught.value.body["type"] == "error"
            assert caught.value.body["error"]["type"] == f"{kind}_error"
    bench.orchestrator.script = [[text("half")], UnavailableError("The model went away.")]
    with pytest.raises(anthropic.APIStatusError, match="went away"):
        async with sdk.messages.stream(model="m", max_tokens=1, messages=HI) as events:
            async for _ in events:
                continue


async def test_a_warning_reaches_clients(bench: Bench) -> None:
    body = {"model": "m", "max_tokens": 1, "messages": HI, "tools": [HOSTED]}
    response = await bench.client.post("/v1/messages", json=body)
    assert "the tool web_search" in response.headers["x-heddle-warning"]
    streamed = await bench.client.post("/v1/messages", json={**body, "stream": True})
    assert "the tool web_search" in streamed.text


async def test_tokens_are_estimated(sdk: AsyncAnthropic, bench: Bench) -> None:
    response = await sdk.messages.with_raw_response.count_tokens(model="m", messages=HI)
    assert response.headers["x-heddle-estimate"] == "true"
    assert (await response.parse()).input_tokens == 1
    assert not bench.orchestrator.requests


async def test_refusals_have_anthropics_form(bench: Bench) -> None:
    body = {"model": "m", "max_tokens": 1, "messages": HI}
    requests: tuple[tuple[str, str, dict[str, str], int, str], ...] = (
        ("POST", "/v1/messages", {"authorization": ""}, 401, "authentication_error"),
        (
            *("POST", "/v1/messages/count_tokens", {"authorization": "", "x-api-key": "no"}),
            *(401, "authentication_error"),
        ),
        ("POST", "/v1/messages/batches", {}, 404, "not_found_error"),
        ("GET", "/v1/messages", {}, 405, "invalid_request_error"),
    )
    for method, path, headers, status, kind in requests:
        response = await bench.client.request(method, path, json=body, headers=headers)
        answer = response.json()
        assert (response.status_code, answer["error"]["type"]) == (status, kind)
        assert answer["type"] == "error"
        assert answer["request_id"] == response.headers["request-id"]
    assert (
        "POST /v1/messages answers"
        in (await bench.client.post("/v1/messages/batches", json={})).text
    )
