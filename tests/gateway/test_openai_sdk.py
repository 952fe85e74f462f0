"""The unmodified `openai` package, in its strictest mode, as a client."""

from collections.abc import AsyncIterator
from typing import cast

import openai
import pytest
from gateway.conftest import Bench
from gateway.neighbours import DONE, text
from gateway.test_stream_encoder import CHOSEN, FOUND, PUT_OUT, STARTED, changed
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent
from heddle_runtime.errors import ProviderRefusedError, ResourceExhaustedError, UnavailableError
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam

HI: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}]


@pytest.fixture
async def sdk(bench: Bench) -> AsyncIterator[AsyncOpenAI]:
    async with bench.openai() as client:
        yield client


async def test_completes(sdk: AsyncOpenAI, bench: Bench) -> None:
    bench.orchestrator.script = [[STARTED, FOUND, text("Hello"), DONE]]
    answer = await sdk.chat.completions.create(model="lamb_assistant.1", messages=HI)
    message = answer.choices[0].message
    assert message.content == "Hello"
    assert message.annotations is not None
    assert message.annotations[0].url_citation.url == "https://e/a"
    assert answer.usage is not None
    assert answer.usage.total_tokens == 10
    assert answer._request_id is not None  # noqa: SLF001 - the SDK's documented name


async def test_streams_with_progress_and_sources(sdk: AsyncOpenAI, bench: Bench) -> None:
    bench.orchestrator.script = [[STARTED, changed()], [FOUND, text("Hel")], [text("lo"), DONE]]
    stream = await sdk.chat.completions.create(
        model="lamb_assistant.1", messages=HI, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    said = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(said) == "Hello"
    assert chunks[-1].usage is not None
    for member in ("event", "heddle"):
        assert any(chunk.model_extra and member in chunk.model_extra for chunk in chunks)


async def test_streams_with_the_helper_that_accumulates(sdk: AsyncOpenAI, bench: Bench) -> None:
    call = RunEvent()
    call.tool_call.id, call.tool_call.name, call.tool_call.arguments_json = "c1", "f", '{"a":1}'
    bench.orchestrator.script = [[STARTED], [text("Well: "), call], [call, DONE]]
    async with sdk.chat.completions.stream(model="lamb_assistant.1", messages=HI) as stream:
        async for _ in stream:
            continue
        answer = await stream.get_final_completion()
    choice = answer.choices[0]
    assert (choice.message.content, choice.finish_reason) == ("Well: ", "tool_calls")
    assert [call.function.arguments for call in choice.message.tool_calls or []] == ['{"a":1}'] * 2
    # The helper joins the roles of all chunks; programs send the message as it is.
    result: ChatCompletionMessageParam = {"role": "tool", "tool_call_id": "c1", "content": "2"}
    conversation = [*HI, cast("ChatCompletionMessageParam", choice.message), result]
    await sdk.chat.completions.create(model="lamb_assistant.1", messages=conversation)
    assert choice.message.role != "assistant"
    roles = [each.role for each in bench.orchestrator.requests[-1].messages]
    assert roles == [chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT, chat_pb2.ROLE_TOOL]


async def test_lists_and_gets_models(sdk: AsyncOpenAI) -> None:
    assert [model.id async for model in sdk.models.list()] == [
        "lamb_assistant.1",
        "lamb_assistant.2",
    ]
    assert (await sdk.models.retrieve("lamb_assistant.1")).owned_by == "lamb_v4"
    with pytest.raises(openai.NotFoundError) as caught:
        await sdk.models.retrieve("lamb_assistant.9")
    assert caught.value.code == "model_not_found"


async def test_raises_its_own_errors(sdk: AsyncOpenAI, bench: Bench) -> None:
    for error, expected in (
        (ResourceExhaustedError("Full.", retry_after=3), openai.RateLimitError),
        (UnavailableError("Down."), openai.InternalServerError),
        (ProviderRefusedError("Too long.", http_status="400"), openai.BadRequestError),
        (ProviderRefusedError("Bad key.", http_status="401"), openai.InternalServerError),
    ):
        bench.orchestrator.script = [error]
        with pytest.raises(expected):
            await sdk.chat.completions.create(model="m", messages=HI)
    with pytest.raises(openai.AuthenticationError):
        await sdk.with_options(api_key="wrong").models.list()


async def test_raises_what_fails_in_mid_stream(sdk: AsyncOpenAI, bench: Bench) -> None:
    bench.orchestrator.script = [[text("half")], UnavailableError("The model went away.")]
    stream = await sdk.chat.completions.create(model="m", messages=HI, stream=True)
    with pytest.raises(openai.APIError, match="went away"):
        async for _ in stream:
            continue


async def test_its_largest_request_is_understood(sdk: AsyncOpenAI, bench: Bench) -> None:
    await sdk.chat.completions.create(
        model="m",
        messages=[{"role": "developer", "content": [{"type": "text", "text": "a"}]}, *HI],
        frequency_penalty=-2,
        logit_bias={"42": -1},
        logprobs=True,
        top_logprobs=2,
        metadata={"a": "b"},
        n=1,
        parallel_tool_calls=True,
        reasoning_effort="low",
        response_format={"type": "json_object"},
        safety_identifier="x",
        seed=1,
        service_tier="auto",
        stop=["a"],
        store=False,
        stream=False,
        stream_options={"include_usage": True},
        temperature=1,
        tool_choice="auto",
        tools=[{"type": "function", "function": {"name": "f"}}],
        verbosity="low",
        web_search_options={},
    )
    extra = bench.orchestrator.requests[0].options.extra_json
    for name in ("logit_bias", "top_logprobs", "metadata", "response_format", "tool_choice"):
        assert f'"{name}":' in extra


async def test_completes_with_an_agents_decisions_and_outputs_beside_the_message(
    sdk: AsyncOpenAI, bench: Bench
) -> None:
    bench.orchestrator.script = [[CHOSEN, PUT_OUT, CHOSEN, text("Hello"), PUT_OUT, DONE]]
    answer = await sdk.chat.completions.create(model="lamb_assistant.1", messages=HI)
    assert answer.choices[0].message.content == "Hello"
    told = (answer.model_extra or {})["heddle"]
    assert [each["type"] for each in told] == ["decision", "output", "decision", "output"]
    assert told[0]["data"]["choices"] == [{"tool": "fast_vector_search", "inputs": {"query": "x"}}]
    quiet = await sdk.chat.completions.create(
        model="lamb_assistant.1", messages=HI, extra_headers={"X-Heddle-Events": "none"}
    )
    assert not quiet.model_extra


async def test_streams_an_agents_decisions_and_outputs_beside_the_text(
    sdk: AsyncOpenAI, bench: Bench
) -> None:
    bench.orchestrator.script = [
        [CHOSEN],
        [PUT_OUT, CHOSEN, text("Hel")],
        [text("lo"), PUT_OUT, DONE],
    ]
    stream = await sdk.chat.completions.create(model="lamb_assistant.1", messages=HI, stream=True)
    chunks = [chunk async for chunk in stream]
    said = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(said) == "Hello"
    told = [(chunk.model_extra or {}).get("heddle", {}).get("type") for chunk in chunks]
    assert [each for each in told if each] == ["decision", "output", "decision", "output"]
