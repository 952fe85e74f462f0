"""The loop with models that know functions, calls and results as text only."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from connector.toolcalls.bfcl import WRITERS
from connector.toolcalls.reading import read_tool_calls
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel
from integration.functions.stage import STYLES, Stage
from integration.functions.upstream import Delta, says

pytestmark = pytest.mark.asyncio(loop_scope="module")
CONTRACT = pb.DESCRIPTOR.services_by_name["OrchestratorService"]
SUM = '{"sum": 42, "unit": ""}'
TOLD = {
    "qwen3_coder": f"<tool_response>\n{SUM}\n</tool_response>",
    "hermes": f"<tool_response>\n{SUM}\n</tool_response>",
    "xlam": f"The functions returned:\n{json.dumps([{'name': 'add', 'result': SUM}])}",
}


def written(style: str, name: str, **arguments: Any) -> list[Delta]:
    text = WRITERS[STYLES[style]]([(name, arguments)])
    return [says(text[at : at + 3]) for at in range(0, len(text), 3)]


async def answered(
    stage: Stage, model: str, extra: Mapping[str, Any] | None = None, rounds: int = 5
) -> str:
    """Ask an assistant that has one function; return its answer."""
    binding = assistant_pb2.ToolBinding(tool="adder", mode=assistant_pb2.MODE_FUNCTION)
    request = pb.RunCompletionRequest(
        assistant=assistant_pb2.Assistant(
            model=assistant_pb2.ModelRef(connector="openai", model=model),
            tools=[binding],
            system_prompt="Be brief.",
            max_tool_rounds=rounds,
        ),
        messages=[
            chat_pb2.Message(
                role=chat_pb2.ROLE_USER, parts=[chat_pb2.ContentPart(text="How many?")]
            )
        ],
        options=chat_pb2.GenerationOptions(extra_json=json.dumps(extra or {})),
    )
    async with channel(stage.heddle.stack.orchestrator, CONTRACT) as to:
        run = pb_grpc.OrchestratorServiceStub(to).RunCompletion(request, **new_call_options(20))
        events = [event async for response in run for event in response.events]
    return "".join(event.text_delta for event in events)


@pytest.mark.parametrize("style", STYLES)
async def test_a_call_written_as_text_is_run_and_its_result_told_as_text(
    style: str, stage: Stage
) -> None:
    upstream = stage.follow([written(style, "add", a=40, b=2), [says("It is 42.")]])
    answer = await answered(stage, style)

    assert answer == "It is 42."
    first, second = upstream.bodies
    for body in (first, second):
        assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)
        system = body["messages"][0]["content"]
        assert system.startswith("Be brief.\n\n# Functions\n")
        assert "Adds two numbers." in system
        assert '"a": {"description": "One number.", "type": "integer"}' in system
    assert [message["role"] for message in second["messages"]] == [
        *("system", "user", "assistant", "user"),
    ]
    *_, call, result = second["messages"]
    assert "tool_calls" not in call
    [read] = read_tool_calls(call["content"], [{"name": "add"}]).calls
    assert read.name == "add"
    assert result["content"] == TOLD[style]


@pytest.mark.parametrize("style", STYLES)
async def test_a_call_where_none_is_offered_any_more_is_neither_run_nor_shown(
    style: str, stage: Stage
) -> None:
    upstream = stage.follow([written(style, "add", a=1, b=n) for n in range(3)])
    answer = await answered(stage, style, rounds=2)

    assert answer == "The model called functions until it had to stop, and gave no answer."
    *_, last = upstream.bodies
    assert len(upstream.bodies) == 3
    assert last["messages"][0]["content"] == "Be brief."
    assert last["messages"][-1]["role"] == "user"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("wishes", "instruction"),
    [
        ({"tool_choice": "required"}, "Call at least one function now."),
        (
            {"tool_choice": {"type": "function", "function": {"name": "add"}}},
            "Call the function add now.",
        ),
        ({"parallel_tool_calls": False}, "Write at most one call at a time."),
    ],
)
async def test_the_clients_wishes_about_calls_are_words(
    wishes: Mapping[str, Any], instruction: str, style: str, stage: Stage
) -> None:
    upstream = stage.follow([[says("No.")]])
    await answered(stage, style, extra=wishes)

    [body] = upstream.bodies
    assert body["messages"][0]["content"].endswith(instruction)
    assert not set(wishes) & set(body)


async def test_other_models_get_their_functions_beside_the_prompt(stage: Stage) -> None:
    upstream = stage.follow([[says("No.")]])
    await answered(stage, "modern-7b")

    [body] = upstream.bodies
    assert [tool["function"]["name"] for tool in body["tools"]] == ["add"]
    assert body["tool_choice"] == "auto"
    assert body["messages"][0]["content"] == "Be brief."
