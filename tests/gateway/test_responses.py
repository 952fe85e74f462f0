"""`/v1/responses`: what is ordered, what is refused, and what clients receive."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any, cast

import openai
import pytest
from gateway.conftest import Bench
from gateway.neighbours import DONE, text
from gateway.test_stream_encoder import STARTED, finished
from google.protobuf.duration_pb2 import Duration
from google.rpc.status_pb2 import Status as RpcStatus
from heddle.chat.v1 import chat_pb2
from heddle.chat.v1.chat_pb2 import Done, ToolCall
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent, Sources
from heddle.tool.v1.tool_pb2 import Source
from heddle_gateway.auth.sealed_texts import SealedTexts
from heddle_gateway.http.error_responses import from_exception
from heddle_gateway.http.json_text import parse
from heddle_gateway.openai.chat.event_encoder import Answer
from heddle_gateway.openai.chat.file_references import READ
from heddle_gateway.openai.conversations.turns import Turn
from heddle_gateway.openai.responses.encoder import ResponseEncoder
from heddle_gateway.openai.responses.hosted_tools import hosted_tools
from heddle_gateway.openai.responses.request import ResponsesRequest, checked, translated
from heddle_gateway.state import State
from heddle_runtime.errors import HeddleError, ResourceExhaustedError, UnavailableError
from heddle_runtime.identity.call_metadata import CALLER, Caller, calling_as
from heddle_runtime.identity.callers import Identity
from openai import AsyncOpenAI
from pydantic import SecretStr

PICTURE = "/v1/vector_stores/vs_1/files/doc_1/pages/2"
SOURCES = RunEvent(
    sources=Sources(
        binding_id="b1",
        sources=[
            Source(title="A", uri="https://e/a"),
            Source(title="B", attributes={"page": "x", "picture_uri": "https://e/p"}),
            Source(title="C", attributes={"page": "2", "picture_uri": PICTURE}),
        ],
    )
)
SEALED = SealedTexts(SecretStr("s" * 32), b"test")
PNG = f"data:image/png;base64,{b64encode(b'x').decode()}"
LOOK = {"type": "function", "name": "look", "parameters": {"type": "object"}}
WITH_REASONING = "reasoning.encrypted_content"


def parsed(items: object = "hi", turn: Turn | None = None, **body: object) -> ResponsesRequest:
    members, place = parse(json.dumps({"model": "m", "input": items, **body}).encode())
    checked_body, tools = checked(members, place), place / "tools"
    with calling_as(Caller("r1", Identity("ann", "school", ("member",)))):
        # A learner runs no tools, so no service is asked.
        hosted = asyncio.run(hosted_tools(cast("State", None), checked_body.tools or (), tools))
    return translated(checked_body, members, place, SEALED, turn or Turn(), hosted)


def answered(request: ResponsesRequest, *events: RunEvent) -> dict[str, Any]:
    encoder = request.encoder(Answer("r1"), streamed=False)
    encoder.encode(events)
    answer: dict[str, Any] = json.loads(encoder.body())
    return answer


def framed(request: ResponsesRequest, *batches: list[RunEvent]) -> list[dict[str, Any]]:
    """Read frames as a strict client does."""
    encoder = request.encoder(Answer("r1"))
    assert isinstance(encoder, ResponseEncoder)
    sent = b"".join(encoder.encode(batch) for batch in batches).decode()
    sent += encoder.end().decode() if encoder.finished else ""
    frames = []
    for frame in sent.removesuffix("\n\n").split("\n\n"):
        event, data = frame.split("\n")
        frames.append(json.loads(data.removeprefix("data: ")))
        assert event == f"event: {frames[-1]['type']}"
    assert [each["sequence_number"] for each in frames] == list(range(len(frames)))
    return frames


def message(content: object, role: str = "user") -> dict[str, object]:
    return {"role": role, "content": content}


def called(name: str = "look", arguments: str = "{}", **members: Any) -> RunEvent:
    return RunEvent(tool_call=ToolCall(id="c1", name=name, arguments_json=arguments, **members))


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"items": ""}, "input", None),
        ({"items": []}, "input", None),
        ({"items": None}, "input", None),
        ({"items": [message(7)]}, "input[0].content", None),
        ({"items": [message("a", "wizard")]}, "input[0].role", None),
        ({"items": [message([{}])]}, "input[0].content[0].type", None),
        (
            {"items": [message([{"type": "input_audio"}])]},
            "input[0].content[0].type",
            "unsupported_content",
        ),
        (
            {"items": [message([{"type": "input_image", "image_url": "ftp://a"}])]},
            "input[0].content[0].image_url",
            None,
        ),
        ({"items": [message([{"type": "input_image"}])]}, "input[0].content[0]", None),
        (
            {"items": [message([{"type": "input_file", "file_url": "https://a"}])]},
            "input[0].content[0]",
            None,
        ),
        ({"items": [{"type": "function_call", "name": "f"}]}, "input[0].call_id", None),
        ({"items": [{"type": "computer_call"}]}, "input[0].type", "unsupported_item"),
        ({"items": [{"type": "item_reference", "id": "msg_1"}]}, "input[0].id", "item_not_found"),
        ({"tools": [{"type": "shell"}]}, "tools[0].type", "unsupported_tool"),
        ({"tools": [{"type": "computer"}]}, "tools[0].type", "unsupported_tool"),
        ({"tools": [LOOK, LOOK]}, "tools[1].name", None),
        (
            {"tools": [{"type": "custom", "name": "a", "format": {"type": "grammar"}}]},
            "tools[0].format.type",
            None,
        ),
        ({"tool_choice": {"type": "file_search"}}, "tool_choice.type", "unsupported_tool"),
        ({"tool_choice": {"type": "function"}}, "tool_choice.name", None),
        ({"tool_choice": "any"}, "tool_choice", None),
        ({"text": {"format": {"type": "json_schema"}}}, "text.format", None),
        ({"parallel_tool_calls": "yes"}, "parallel_tool_calls", None),
        ({"max_output_tokens": 0}, "max_output_tokens", None),
        ({"background": True}, "background", "invalid_request"),
        ({"prompt": {"id": "p"}}, "prompt", "unsupported_parameter"),
        (
            {"items": [{"type": "function_call_output", "call_id": "c", "output": "x"}]},
            "input[0].call_id",
            "tool_call_not_found",
        ),
        (
            {"items": [{"type": "compaction", "encrypted_content": "x"}]},
            "input[0].encrypted_content",
            "invalid_encrypted_content",
        ),
    ],
)
def test_a_wrong_member_is_named(body: dict[str, Any], param: str, code: str | None) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of two classes
        parsed(**body)
    error = from_exception(caught.value)
    assert (error.param, error.code) == (param, code)
    assert error.status == 400


def test_stored_items_precede_the_input() -> None:
    stored = [
        {"type": "function_call_output", "call_id": "of a turn that is gone", "output": "x"},
        {"id": "msg_1", **message([{"type": "output_text", "text": "b"}], "assistant")},
    ]
    turn = Turn(
        stores=True,
        previous="resp_1",
        after="msg_1",
        items=[json.dumps(each).encode() for each in stored],
        references={"msg_0": json.dumps(message("old")).encode()},
    )
    items = [{"type": "item_reference", "id": "msg_0"}, message("new")]
    request = parsed(items, turn, instructions="Be short.")
    run = request.run
    texts = [each.parts[0].text for each in run.messages]
    assert texts == ["Be short.", "x", "b", "old", "new"]
    stored_items = [json.loads(each.document_json) for each in request.items]
    assert [each["content"][0]["text"] for each in stored_items] == ["old", "new"]
    assert {each["id"][:4] for each in stored_items} == {"msg_"}
    assert request.form.echo["previous_response_id"] == "resp_1"
    assert parsed("hi", Turn()).items == ()


def test_old_turns_are_left_out_of_stored_conversations_by_default() -> None:
    follows = {"previous_response_id": "resp_1"}
    assert [
        (parsed(**body).run.truncate, parsed(**body).form.echo["truncation"])
        for body in (
            {},
            follows,
            {"truncation": "auto"},
            {**follows, "truncation": "disabled"},
            {"context_management": [{"type": "compaction"}]},
        )
    ] == [
        *((False, "disabled"), (True, "auto"), (True, "auto")),
        *((False, "disabled"), (True, "auto")),
    ]


def test_null_means_absent_and_unknown_members_are_ignored() -> None:
    names = ("tools", "text", "include", "store", "stream", "reasoning", "instructions", "metadata")
    assert parsed(**dict.fromkeys(names), client_metadata={"a": 1}).run == parsed().run


def test_options_reach_the_model_in_the_form_of_chat_completions() -> None:
    options = parsed(
        temperature=0.2,
        max_output_tokens=5,
        reasoning={"effort": "low", "summary": "auto"},
        text={"format": {"type": "json_schema", "name": "n", "schema": {"a": 1.0}}},
        tools=[LOOK],
        tool_choice={"type": "function", "name": "look"},
        top_logprobs=2,
        store=True,
    ).run.options
    assert (options.temperature, options.max_tokens) == (0.2, 5)
    assert json.loads(options.extra_json) == {
        "reasoning_effort": "low",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "n", "schema": {"a": 1.0}},
        },
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "logprobs": True,
        "top_logprobs": 2,
    }


def test_instructions_and_items_become_messages() -> None:
    run = parsed(
        [
            message(
                [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": PNG}]
            ),
            {"type": "reasoning", "summary": []},
            {"type": "message", **message([{"type": "output_text", "text": "b"}], "assistant")},
            {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
            {"type": "custom_tool_call", "call_id": "2", "name": "say", "input": "x"},
            {"type": "mcp_call", "id": "mcp_1"},
            {"type": "function_call_output", "call_id": "1", "output": "c"},
            {
                "type": "custom_tool_call_output",
                "call_id": "2",
                "output": [{"type": "input_text", "text": "d"}],
            },
        ],
        instructions="Be kind.",
    ).run
    developer, user, assistant, *results = run.messages
    assert (developer.role, developer.parts[0].text) == (chat_pb2.ROLE_DEVELOPER, "Be kind.")
    assert (user.role, user.parts[1].image.data) == (chat_pb2.ROLE_USER, b"x")
    assert (assistant.role, assistant.parts[0].text) == (chat_pb2.ROLE_ASSISTANT, "b")
    assert [(each.id, each.arguments_json) for each in assistant.tool_calls] == [
        ("1", "{}"),
        ("2", '{"input":"x"}'),
    ]
    assert [(each.tool_call_id, each.parts[0].text) for each in results] == [("1", "c"), ("2", "d")]


def test_two_messages_of_the_assistant_stay_two() -> None:
    items = [message("a", "assistant"), message("b", "assistant"), message("c")]
    assert [each.parts[0].text for each in parsed(items).run.messages] == ["a", "b", "c"]


def test_only_allowed_tools_are_offered() -> None:
    tools = [LOOK, {"type": "custom", "name": "say"}]
    choice = {
        "type": "allowed_tools",
        "mode": "required",
        "tools": [{"type": "custom", "name": "say"}],
    }
    run = parsed(tools=tools, tool_choice=choice).run
    assert [each.name for each in run.functions] == ["say"]
    assert json.loads(run.options.extra_json) == {"tool_choice": "required"}


def test_hosted_tools_that_clients_declare_unasked_are_left_out_with_a_warning() -> None:
    request = parsed(tools=[{"type": "namespace", "name": "mcp"}, {"type": "web_search"}, LOOK])
    assert [each.name for each in request.run.functions] == ["look"]
    report = answered(request, *request.notes, DONE)["heddle"][-1]
    assert [each.split(";")[0] for each in report["data"]["warnings"]] == [
        "Heddle does not offer the tool namespace",
        "Heddle does not offer the tool web_search",
    ]


def test_no_call_is_required_if_all_tools_are_left_out() -> None:
    hosted = {"type": "web_search"}
    options = [
        parsed(tools=tools, tool_choice="required").run.options.extra_json
        for tools in ([hosted], [hosted, LOOK])
    ]
    assert options == ["", '{"tool_choice":"required"}']


def test_calls_are_items_that_clients_can_send_back() -> None:
    tools = [LOOK, {"type": "custom", "name": "say"}]
    events = (
        text("Well:"),
        called(extra_json='{"extra_content":{"a":1},"secret":2}'),
        called("say", '{"input":"x"}'),
        DONE,
    )
    reply, look, say = answered(parsed(tools=tools), *events)["output"]
    assert reply["content"][0]["text"] == "Well:"
    assert (look["type"], look["arguments"], look["extra_content"]) == (
        "function_call",
        "{}",
        {"a": 1},
    )
    assert "secret" not in look
    assert (say["type"], say["input"]) == ("custom_tool_call", "x")
    [repeated] = parsed([reply, look, say]).run.messages
    assert json.loads(repeated.tool_calls[0].extra_json) == {"extra_content": {"a": 1}}
    assert repeated.tool_calls[1].arguments_json == '{"input":"x"}'


def test_sealed_reasoning_is_for_its_caller_and_assistant_only() -> None:
    CALLER.set(Caller("r1", Identity("ana", organization="a")))
    done = Done(message_extra_json='{"details":[1]}', finish_reason=chat_pb2.FINISH_REASON_STOP)
    request = parsed(tools=[LOOK], include=[WITH_REASONING])
    thought = RunEvent(reasoning_delta="Hm.")
    output: list[dict[str, Any]] = []
    for events in ((thought, called()), (called(),)):
        output = answered(request, *events, RunEvent(done=done))["output"]
        [sealed] = [each["encrypted_content"] for each in output if each["type"] == "reasoning"]
        assert "details" not in sealed
        assert parsed(output).run.messages[0].extra_json == '{"details":[1]}'
    assert not parsed(output, model="other").run.messages[0].extra_json
    CALLER.set(Caller("r1", Identity("bob", organization="a")))
    assert not parsed(output).run.messages[0].extra_json
    foreign = [{"type": "reasoning", "encrypted_content": "gAAAA"}, output[0]]
    assert not parsed(foreign).run.messages[0].extra_json
    without = answered(parsed(tools=[LOOK]), called(), RunEvent(done=done))["output"]
    assert [each["type"] for each in without] == ["function_call"]


def test_tools_of_the_assistant_are_items_with_their_sources_as_annotations() -> None:
    failed = finished("rubric", error=RpcStatus(code=5, message="None."))
    ended = finished(elapsed=Duration())
    frames = framed(parsed(), [STARTED], [ended, SOURCES], [failed], [text("Hi"), DONE])
    search, rubric, reply = frames[-1]["response"]["output"]
    assert (search["type"], search["status"]) == ("file_search_call", "completed")
    assert rubric["error"]["content"] == [{"type": "text", "text": "None."}]
    assert [each["type"] for each in reply["content"][0]["annotations"]] == [
        "url_citation",
        "file_citation",
        "file_citation",
    ]
    assert frames[-1]["response"]["heddle"][-1]["type"] == "report"
    assert any("event" in each for each in frames)
    whole = answered(parsed(), ended, SOURCES, failed, text("Hi"), DONE)
    assert [each["type"] for each in whole["output"]] == [
        each["type"] for each in frames[-1]["response"]["output"]
    ]


def test_results_of_searches_are_included_on_request() -> None:
    request = parsed(include=["file_search_call.results"])
    output = answered(request, finished(elapsed=Duration()), SOURCES, text("Hi"), DONE)["output"]
    results = output[0]["results"]
    assert [each["filename"] for each in results] == ["A", "B", "C"]
    assert [each["attributes"] for each in results] == [{}, {}, {"page": 2}]
    assert [each["file_id"] for each in results] == ["A", "B", "doc_1"]
    assert [each["vector_store_id"] for each in results] == [None, None, "vs_1"]
    assert (
        answered(parsed(), finished(elapsed=Duration()), SOURCES, DONE)["output"][0]["results"]
        is None
    )


def test_a_response_that_was_cut_is_incomplete() -> None:
    for reason, expected in (
        (chat_pb2.FINISH_REASON_LENGTH, "max_output_tokens"),
        (chat_pb2.FINISH_REASON_CONTENT_FILTER, "content_filter"),
    ):
        events = [text("Hi"), RunEvent(done=Done(finish_reason=reason))]
        last = framed(parsed(), events)[-1]
        assert last["type"] == "response.incomplete"
        assert last["response"]["incomplete_details"] == {"reason": expected}
        assert last["response"]["output"][0]["status"] == "incomplete"


def test_an_empty_reply_is_an_empty_message() -> None:
    [reply] = answered(parsed(), DONE)["output"]
    assert reply["content"][0]["text"] == ""


@pytest.fixture
async def sdk(bench: Bench) -> AsyncIterator[AsyncOpenAI]:
    async with bench.openai() as client:
        yield client


async def test_openai_python_reads_a_whole_response(sdk: AsyncOpenAI, bench: Bench) -> None:
    bench.orchestrator.script = [[STARTED, SOURCES, text("Hello"), DONE]]
    response = await sdk.responses.create(model="lamb_assistant.1", input="hi")
    assert (response.output_text, response.status) == ("Hello", "completed")
    assert response.usage is not None
    assert response.usage.total_tokens == 10
    assert bench.orchestrator.whole_requests == 1


async def test_openai_python_reads_a_stream(sdk: AsyncOpenAI, bench: Bench) -> None:
    bench.orchestrator.script = [[STARTED], [SOURCES, text("Hel")], [text("lo"), called(), DONE]]
    async with sdk.responses.stream(model="lamb_assistant.1", input="hi") as stream:
        kinds = [event.type async for event in stream]
        response = await stream.get_final_response()
    assert response.output_text == "Hello"
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert "response.function_call_arguments.done" in kinds


async def test_failures_before_and_in_a_stream(sdk: AsyncOpenAI, bench: Bench) -> None:
    failures: tuple[tuple[HeddleError, type[openai.APIStatusError]], ...] = (
        (ResourceExhaustedError("Full.", retry_after=3), openai.RateLimitError),
        (UnavailableError("Down."), openai.InternalServerError),
    )
    for error, expected in failures:
        bench.orchestrator.script = [error]
        for stream in (False, True):
            with pytest.raises(expected):
                await sdk.responses.create(model="m", input="hi", stream=stream)
    bench.orchestrator.script = [[text("half")], UnavailableError("The model went away.")]
    events = [
        event async for event in await sdk.responses.create(model="m", input="hi", stream=True)
    ]
    last = events[-1]
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert "went away" in last.response.error.message


async def test_the_route_needs_a_key(bench: Bench) -> None:
    body = {"model": "m", "input": "hi"}
    headers = {"authorization": ""}
    response = await bench.client.post("/v1/responses", json=body, headers=headers)
    assert response.status_code == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/audio/speech"),
        ("POST", "/v1/responses/input_tokens"),
        ("POST", "/v1/images/variations"),
        ("GET", "/v1/uploads"),
    ],
)
async def test_absent_endpoints_say_what_there_is_instead(
    bench: Bench, method: str, path: str
) -> None:
    response = await bench.client.request(method, path)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (404, "unsupported_endpoint")
    assert error["message"].startswith(f"Heddle does not offer {method} {path}. ")


def test_a_stored_turn_has_the_text_of_a_document_instead_of_its_content() -> None:
    document = {"type": "input_file", "filename": "a.pdf", "file_data": b64encode(b"%PDF").decode()}
    items = [message([{"type": "input_text", "text": "Why?"}, document]), message("And?")]
    request = parsed(items, Turn(stores=True))
    request.adopt({"input[0].content[1]": "Hëddle", "content[0]": "of an earlier turn"})
    content = json.loads(request.items[0].document_json)["content"]
    assert content[0]["text"] == "Why?"
    assert content[1]["filename"] == "a.pdf"
    assert content[1]["file_data"] == f"data:{READ};base64,{b64encode('Hëddle'.encode()).decode()}"
    stored = [each.document_json.encode() for each in request.items]
    again = parsed("Go on", Turn(items=stored)).run
    assert again.messages[0].parts[1].file.data.decode() == "Hëddle"
