"""Several choices of a chat completion, and `/v1/completions`."""

import json
from typing import Any

import pytest
from gateway.conftest import Bench
from gateway.neighbours import DONE, text
from gateway.test_stream_encoder import FOUND as PASSAGES
from gateway.test_stream_encoder import STARTED, chunks, finished
from heddle.chat.v1.chat_pb2 import FINISH_REASON_LENGTH, Done, GeneratedImage, ToolCall, Usage
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent
from heddle_gateway.http.error_responses import RejectedRequestError
from heddle_gateway.openai.text_completions import parse_request
from heddle_runtime.errors import HeddleError

CUT = Done(finish_reason=FINISH_REASON_LENGTH, usage=Usage(prompt_tokens=7, completion_tokens=1))
PICTURE = RunEvent(image=GeneratedImage(name="a.png", media_type="image/png", data=b"x"))


def of(candidate: int, event: RunEvent) -> RunEvent:
    numbered = RunEvent(candidate=candidate)
    numbered.MergeFrom(event)
    return numbered


CALL = RunEvent(tool_call=ToolCall(id="c1", name="f", arguments_json="{}"))
SCRIPT = (
    [STARTED],
    [finished(), PASSAGES, of(1, text("b")), text("a")],
    [of(1, text("B")), of(1, CALL)],
    [text("A"), DONE, of(1, RunEvent(done=CUT))],
)
FUNCTION = {"type": "function", "function": {"name": "f"}}


async def test_choices_of_a_whole_completion(bench: Bench) -> None:
    bench.orchestrator.script = SCRIPT
    completion = (await bench.chat(n=2, tools=[FUNCTION])).json()
    first, second = completion["choices"]
    assert [first["index"], second["index"]] == [0, 1]
    assert [it["message"]["content"] for it in (first, second)] == ["aA", "bB"]
    assert [it["finish_reason"] for it in (first, second)] == ["stop", "length"]
    assert "tool_calls" not in first["message"]
    assert second["message"]["tool_calls"][0]["id"] == "c1"
    assert first["message"]["annotations"] == second["message"]["annotations"] != []
    assert completion["usage"]["prompt_tokens"] == 14
    assert completion["usage"]["completion_tokens"] == 4
    assert [it["type"] for it in completion["heddle"]] == ["report"]
    assert bench.orchestrator.requests[-1].candidates == 2


async def test_choices_of_a_stream(bench: Bench) -> None:
    bench.orchestrator.script = SCRIPT
    options: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
    sent = (await bench.chat(n=2, tools=[FUNCTION], **options)).content
    assert sent.endswith(b"data: [DONE]\n\n")
    *parts, usage = chunks(sent)
    joined = {0: "", 1: ""}
    ends = {}
    for chunk in parts:
        (choice,) = chunk["choices"]
        joined[choice["index"]] += choice["delta"].get("content") or ""
        if choice["finish_reason"]:
            ends[choice["index"]] = choice["finish_reason"]
    assert joined == {0: "aA", 1: "bB"}
    assert ends == {0: "stop", 1: "length"}
    roles = [it["choices"][0]["delta"] for it in parts if it["choices"][0]["index"] == 1]
    assert roles[0]["role"] == "assistant"
    assert (usage["choices"], usage["usage"]["total_tokens"]) == ([], 18)
    assert sum("heddle" in chunk for chunk in parts) == 1
    assert {chunk["id"] for chunk in parts} == {usage["id"]}


def prompted(**members: object) -> Any:
    body = {"model": "m", "prompt": "A heddle is", **members}
    return parse_request(json.dumps(body).encode())


def test_a_prompt_is_a_message_of_the_user() -> None:
    for prompt in ("A heddle is", ["A heddle is"]):
        request = prompted(
            prompt=prompt, max_tokens=5, n=2, best_of=2, logit_bias={"1": 2}, unknown=1, tools=[1]
        )
        (message,) = request.run.messages
        assert message.parts[0].text == "A heddle is"
        assert (request.run.options.max_tokens, request.run.candidates) == (5, 2)
        assert request.run.options.extra_json == '{"logit_bias":{"1": 2}}'
    assert prompted(suffix="", logprobs=None, best_of=0, echo=None).echo == ""


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"prompt": None}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [1, 2]}, "prompt"),
        ({"prompt": [[1], [2]]}, "prompt"),
        ({"prompt": ["a", "b"]}, "prompt"),
        ({"suffix": "."}, "suffix"),
        ({"logprobs": 0}, "logprobs"),
        ({"best_of": 2}, "best_of"),
        ({"best_of": 3, "n": 2}, "best_of"),
        ({"n": 9}, "n"),
        ({"echo": "yes"}, "echo"),
        ({"temperature": 3}, "temperature"),
        ({"stop": list("abcde")}, "stop"),
        ({"max_tokens": -1}, "max_tokens"),
    ],
)
def test_a_wrong_prompt_is_refused(members: dict[str, object], param: str) -> None:
    with pytest.raises((HeddleError, RejectedRequestError)) as caught:
        prompted(**members)
    error = caught.value
    if isinstance(error, RejectedRequestError):
        assert error.error.param == param
    else:
        assert isinstance(error, HeddleError)
        assert error.violations[0].field == param


async def test_a_text_completion_has_text_only(bench: Bench) -> None:
    reasoning = RunEvent(reasoning_delta="Hm.")
    bench.orchestrator.script = [[STARTED, finished()], [reasoning, text("a"), PICTURE, DONE]]
    body = {"model": "lamb_assistant.1", "prompt": "Say a", "echo": True}
    completion = (await bench.client.post("/v1/completions", json=body)).json()
    (choice,) = completion["choices"]
    assert choice == {"index": 0, "text": choice["text"], "logprobs": None, "finish_reason": "stop"}
    assert choice["text"].startswith("Say aa![picture](http")
    assert completion["object"] == "text_completion"
    assert completion["id"].startswith("cmpl-")

    streamed = (await bench.client.post("/v1/completions", json={**body, "stream": True})).content
    parts = chunks(streamed)
    assert "".join(each["choices"][0]["text"] for each in parts) == choice["text"]
    assert {each["object"] for each in parts} == {"text_completion"}
    assert [each["choices"][0]["finish_reason"] for each in parts[-2:]] == [None, "stop"]


async def test_text_completions_with_the_sdk(bench: Bench) -> None:
    bench.orchestrator.script = SCRIPT
    async with bench.openai() as client:
        response = await client.completions.create(model="lamb_assistant.1", prompt="Say", n=2)
        assert [each.text for each in response.choices] == ["aA", "bB"]
        client._strict_response_validation = False  # noqa: SLF001 - it lacks the null of pieces
        stream = await client.completions.create(
            model="lamb_assistant.1", prompt="Say", n=2, stream=True
        )
        joined = {0: "", 1: ""}
        async for chunk in stream:
            for each in chunk.choices:
                joined[each.index] += each.text
    assert joined == {0: "aA", 1: "bB"}
