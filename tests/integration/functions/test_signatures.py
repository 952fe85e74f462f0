"""What a provider puts into its calls comes back to it, from Heddle and by way of clients."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from integration.functions.sdk import answered
from integration.functions.stage import Stage
from integration.functions.upstream import Body, Delta, calls, goes_on, says
from openai import AsyncOpenAI, BadRequestError

pytestmark = pytest.mark.asyncio(loop_scope="module")
SIGNED = {"extra_content": {"google": {"thought_signature": "CpQB=="}}}
TOOLS: Any = [{"type": "function", "function": {"name": "alarm", "parameters": {}}}]


def called(name: str, **more: Any) -> Delta:
    """Return a call with unknown members."""
    [call] = calls(name, "", identifier="c1")["tool_calls"]
    return {"tool_calls": [{**call, **more}]}


def thinks(**members: Any) -> Delta:
    return {"role": "assistant", **members}


def detail(**members: Any) -> Mapping[str, Any]:
    return {"reasoning_details": [{"type": "reasoning.text", "index": 0, **members}]}


PROVIDERS: Mapping[str, Sequence[Delta]] = {
    "in the call": [],
    "as text": [thinks(reasoning_content="One and "), thinks(reasoning_content="one.")],
    "by another name": [
        thinks(reasoning="One and ", **detail(text="One and ", format="v1")),
        thinks(reasoning="one.", **detail(text="one.")),
        thinks(**detail(signature="Eq0B==")),
        thinks(reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "gAAA"}]),
    ],
}


def answers_of(provider: str, name: str) -> Sequence[Sequence[Delta]]:
    """Return a turn that calls a function, and the answer."""
    more = SIGNED if provider == "in the call" else {}
    return [[*PROVIDERS[provider], called(name, **more), goes_on('{"a": 1}')], [says("Done.")]]


def missing(provider: str) -> Any:
    """Return what refuses a call that comes back without what belongs to it."""

    def refuse(body: Body) -> str:
        for message in body["messages"]:
            for call in message.get("tool_calls", ()):
                if problem := _missing(provider, message, call):
                    return f"Function call is missing {problem}."
        return ""

    return refuse


def _missing(provider: str, message: Body, call: Body) -> str:
    if call["type"] != "function" or set(call) - {"id", "type", "function", "extra_content"}:
        return "its shape"
    match provider:
        case "in the call" if call.get("extra_content") != SIGNED["extra_content"]:
            return "a thought_signature"
        case "as text" if message.get("reasoning_content") != "One and one.":
            return "its reasoning_content"
        case "by another name":
            details = message.get("reasoning_details", [])
            text = "".join(each.get("text") or "" for each in details)
            signed = [each.get("signature") for each in details if each.get("signature")]
            sealed = [each["data"] for each in details if "data" in each]
            if (text, signed, sealed) != ("One and one.", ["Eq0B=="], ["gAAA"]):
                return "its reasoning_details"
            if message.get("reasoning") != "One and one." or "reasoning_content" in message:
                return "its reasoning"
        case _:
            pass
    return ""


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_function_of_the_assistant_can_be_called(
    provider: str, stream: bool, stage: Stage, client: AsyncOpenAI
) -> None:
    upstream = stage.follow(answers_of(provider, "add"), missing(provider))
    question = [{"role": "user", "content": "1 and 1?"}]
    message = await answered(client, "adding", question, stream=stream)

    assert message.content == "Done."
    assert len(upstream.bodies) == 2
    assert "reasoning_details" not in (message.model_extra or {})


@pytest.mark.parametrize("assistant", ["plain", "adding"])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_function_of_the_client_can_be_called(
    provider: str, stream: bool, assistant: str, stage: Stage, client: AsyncOpenAI
) -> None:
    upstream = stage.follow(answers_of(provider, "alarm"), missing(provider))
    talk: list[Any] = [{"role": "user", "content": "Wake me."}]
    message = await answered(client, assistant, talk, stream=stream, tools=TOOLS)
    [call] = message.tool_calls
    talk += [
        message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "It rings."},
    ]
    message = await answered(client, assistant, talk, stream=stream, tools=TOOLS)

    assert message.content == "Done."
    assert len(upstream.bodies) == 2


async def test_a_provider_that_misses_it_is_heard(stage: Stage, client: AsyncOpenAI) -> None:
    talk: list[Any] = [
        {"role": "user", "content": "Wake me."},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "alarm"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "It rings."},
    ]
    stage.follow(answers_of("in the call", "alarm"), missing("in the call"))
    with pytest.raises(BadRequestError, match="missing a thought_signature"):
        await answered(client, "plain", talk, stream=False, tools=TOOLS)
