"""What a provider puts into its calls comes back to it, from Heddle and by way of clients."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from heddle_gateway.auth.authenticator import DEVELOPMENT_KEY
from integration.functions.toolbox import PLUGIN
from integration.functions.upstream import Body, Delta, Upstream, calls, goes_on, says, scripted
from integration.whole import whole, write_assistant
from openai import AsyncOpenAI, BadRequestError

SIGNED = {"extra_content": {"google": {"thought_signature": "CpQB=="}}}
TOOLS: Any = [{"type": "function", "function": {"name": "alarm", "parameters": {}}}]
NAME = "lamb_assistant.1"


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


@asynccontextmanager
async def talking(
    folder: Path, monkeypatch: pytest.MonkeyPatch, provider: str, name: str, tools: str = ""
) -> AsyncIterator[tuple[AsyncOpenAI, Upstream]]:
    (folder / "plugins").mkdir()
    (folder / "plugins" / "toolbox.py").write_text(PLUGIN)
    write_assistant(folder, "1", f"model: {{connector: openai, model: scripted}}\n{tools}")
    async with scripted(answers_of(provider, name), missing(provider)) as upstream:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", upstream.url)
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", "test")
        async with (
            whole(folder) as heddle,
            AsyncOpenAI(
                base_url=f"{heddle.url}/v1", api_key=DEVELOPMENT_KEY, max_retries=0
            ) as client,
        ):
            yield client, upstream


async def answered(client: AsyncOpenAI, messages: list[Any], *, stream: bool, **more: Any) -> Any:
    """Return the message that comes back."""
    if not stream:
        completion = await client.chat.completions.create(model=NAME, messages=messages, **more)
        return completion.choices[0].message
    async with client.chat.completions.stream(model=NAME, messages=messages, **more) as events:
        async for _ in events:
            continue
        return (await events.get_final_completion()).choices[0].message


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_function_of_the_assistant_can_be_called(
    provider: str, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = "tools: [{type: adder, mode: function}]\n"
    async with talking(tmp_path, monkeypatch, provider, "add", tools) as (client, upstream):
        message = await answered(client, [{"role": "user", "content": "1 and 1?"}], stream=stream)

    assert message.content == "Done."
    assert len(upstream.bodies) == 2
    assert "reasoning_details" not in (message.model_extra or {})


@pytest.mark.parametrize("tools", ["", "tools: [{type: adder, mode: function}]\n"])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_function_of_the_client_can_be_called(
    provider: str, stream: bool, tools: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with talking(tmp_path, monkeypatch, provider, "alarm", tools) as (client, upstream):
        talk: list[Any] = [{"role": "user", "content": "Wake me."}]
        message = await answered(client, talk, stream=stream, tools=TOOLS)
        [call] = message.tool_calls
        talk += [
            message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": "It rings."},
        ]
        message = await answered(client, talk, stream=stream, tools=TOOLS)

    assert message.content == "Done."
    assert len(upstream.bodies) == 2


async def test_a_provider_that_misses_it_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk: list[Any] = [
        {"role": "user", "content": "Wake me."},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "alarm"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "It rings."},
    ]
    async with talking(tmp_path, monkeypatch, "in the call", "alarm") as (client, _):
        with pytest.raises(BadRequestError, match="missing a thought_signature"):
            await answered(client, talk, stream=False, tools=TOOLS)
