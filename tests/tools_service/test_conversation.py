"""What a tool sees of a run: the whole request, the assistant, the caller, earlier results."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_tools_service.contract.conversation import Conversation
from heddle_tools_service.sdk import EarlierResult, ToolCall, ToolConfig, ToolResult, tool
from tools_service.serving import invocation, said, serving_tools

ROLES = {"system": 1, "user": 2, "assistant": 3, "tool": 4, "developer": 5}


def text(role: str, *words: str) -> chat_pb2.Message:
    parts = [chat_pb2.ContentPart(text=word) for word in words]
    return chat_pb2.Message(role=ROLES[role], parts=parts)  # type: ignore[arg-type] # a number is a role


async def test_a_tool_sees_the_complete_request() -> None:
    picture = chat_pb2.ContentPart(
        image=chat_pb2.Media(
            data=b"\x89PNG", media_type="image/png", image_detail=chat_pb2.IMAGE_DETAIL_LOW
        )
    )
    link = chat_pb2.ContentPart(image=chat_pb2.Media(uri="https://x/y.png"))
    sound = chat_pb2.ContentPart(audio=chat_pb2.Media(data=b"RIFF", media_type="audio/x-wav"))
    paper = chat_pb2.ContentPart(
        file=chat_pb2.Media(data=b"%PDF", media_type="application/pdf", filename="a.pdf")
    )
    foreign = chat_pb2.ContentPart(
        foreign=chat_pb2.ForeignPart(type="odd", json='{"type":"odd","n":12345678901234567890}')
    )
    user = text("user", "look", "here")
    user.parts.extend([picture, link, sound, paper, foreign])
    user.participant = "ana"
    asking = chat_pb2.Message(
        role=chat_pb2.ROLE_ASSISTANT,
        tool_calls=[chat_pb2.ToolCall(id="c1", name="f", arguments_json="{bad")],
    )
    answer = text("tool", "42")
    answer.tool_call_id = "c1"
    answer.extra_json = '{"cache_control":{"type":"x"}}'
    context = said(identifier="7")
    context.messages.extend([text("system", "be kind"), asking, answer, user])
    context.streaming = True
    context.options.temperature = 0.0
    context.options.seed = 2**60
    context.options.stop.append("END")
    context.options.extra_json = '{"user":"u-1","logit_bias":{"42":-1},"stream":"lies"}'

    seen = Conversation(context).request()

    assert seen == {
        "model": "lamb_assistant.7",
        "messages": [
            {"role": "system", "content": "be kind"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{bad"}}
                ],
            },
            {
                "role": "tool",
                "content": "42",
                "tool_call_id": "c1",
                "cache_control": {"type": "x"},
            },
            {
                "role": "user",
                "name": "ana",
                "content": [
                    {"type": "text", "text": "look"},
                    {"type": "text", "text": "here"},
                    {
                        "type": "image_url",
                        "image_url": {"url": "data:image/png;base64,iVBORw==", "detail": "low"},
                    },
                    {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
                    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                    {
                        "type": "file",
                        "file": {
                            "filename": "a.pdf",
                            "file_data": "data:application/pdf;base64,JVBERg==",
                        },
                    },
                    {"type": "odd", "n": 12345678901234567890},
                ],
            },
        ],
        "stream": True,
        "temperature": 0.0,
        "seed": 2**60,
        "stop": ["END"],
        "user": "u-1",
        "logit_bias": {"42": -1},
    }


@pytest.mark.parametrize(
    ("messages", "query"),
    [
        (
            [text("user", "one"), text("assistant", "two"), text("user", "three", "four")],
            "three four",
        ),
        ([text("user", "asked"), text("tool", "found")], "asked"),
        ([text("system", "only")], ""),
        ([text("user")], ""),
        ([], ""),
    ],
)
def test_the_query_is_the_last_user_message_joined_by_spaces(
    messages: list[chat_pb2.Message], query: str
) -> None:
    assert Conversation(pb.RunContext(messages=messages)).query == query


@pytest.mark.parametrize("broken", ["[1]", "{", "[" * 100_000, "null"])
async def test_members_that_are_not_json_are_told_to_those_who_look(broken: str) -> None:
    seen: list[Any] = []
    context = said("hello")
    context.options.extra_json = broken
    async with serving_tools(spy(seen), blind) as client:
        await client.run("blind", {}, context)
        with pytest.raises(InvalidRequestError) as caught:
            await client.run("spy", {}, context)

    assert caught.value.violations[0].field == "context.options.extra_json"


async def test_each_tool_may_edit_its_own_request() -> None:
    seen: list[Any] = []
    two = [invocation("1", "spy"), invocation("2", "spy")]
    async with serving_tools(spy(seen)) as client:
        await client.run_all(two, said("hello"))

    assert [request["messages"][0]["content"] for request, *_ in seen] == ["hello", "hello"]
    assert seen[0][0]["messages"] is not seen[1][0]["messages"]


async def test_a_tool_sees_assistant_caller_and_earlier_results() -> None:
    seen: list[Any] = []
    context = said("hello", owner="ana@example.org", organization="o1", identifier="7")
    context.earlier.add(id="b1", tool="simple_rag", slot="context", text="found {x}")
    identity = Identity("u-9", "o1", ("chat",))
    async with as_caller(identity), serving_tools(spy(seen)) as client:
        await client.run("spy", {}, context)

    [(_, assistant, caller, earlier)] = seen
    assert (assistant.id, assistant.owner, assistant.organization) == ("7", "ana@example.org", "o1")
    assert (assistant.connector, assistant.model) == ("bypass", "simple-bypass")
    # The service has no secret here, so it believes no token.
    assert (caller.subject, caller.organization) == ("developer", "")
    assert earlier == (EarlierResult("b1", "simple_rag", "context", "found {x}"),)


def test_the_caller_is_the_one_whom_the_boundary_knows() -> None:
    CALLER.set(Caller("r", Identity("u-9", "o1", ["chat"])))

    known = Conversation(pb.RunContext()).caller

    assert (known.subject, known.organization, known.scopes) == ("u-9", "o1", ("chat",))


@asynccontextmanager
async def as_caller(identity: Identity) -> AsyncGenerator[None]:
    before = CALLER.set(Caller("request-1", identity))
    yield
    CALLER.reset(before)


def spy(seen: list[Any]) -> Any:
    @tool("spy", title="Spy")
    async def spying(call: ToolCall[ToolConfig]) -> ToolResult:
        """Remembers what it sees."""
        seen.append(
            (json.loads(json.dumps(call.request)), call.assistant, call.caller, call.earlier)
        )
        call.request["messages"][0]["content"] = "edited"
        return ToolResult("")

    return spying


@tool("blind", title="Blind")
async def blind(_: object) -> ToolResult:
    """Looks at nothing."""
    return ToolResult("")
