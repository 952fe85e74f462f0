"""The loop of model and functions against a scripted provider: nothing else is scripted.

Run this file to write the golden files anew.
"""

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_call_options
from heddle_runtime.identity.callers import DEVELOPER
from heddle_runtime.rpc.client import channel
from integration.functions.stage import Stage, staged
from integration.functions.upstream import Delta, Upstream, calls, goes_on, says

GOLDEN = Path(__file__).parents[2] / "golden" / "functions"
CONTRACT = pb.DESCRIPTOR.services_by_name["OrchestratorService"]
FUNCTION = assistant_pb2.MODE_FUNCTION


def bound(tool: str, identifier: str = "", **more: Any) -> assistant_pb2.ToolBinding:
    config = to_struct(more.pop("config", {}))
    return assistant_pb2.ToolBinding(
        id=identifier, tool=tool, mode=more.pop("mode", FUNCTION), config=config, **more
    )


@dataclass(frozen=True)
class Case:
    """A script, and who asks what."""

    turns: Sequence[Sequence[Delta]]
    tools: Sequence[assistant_pb2.ToolBinding] = (bound("adder"),)
    functions: Sequence[str] = ()
    """Of the client."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Of the client's request."""
    template: str = ""
    rounds: int = 0

    def request(self) -> pb.RunCompletionRequest:
        assistant = assistant_pb2.Assistant(
            model=assistant_pb2.ModelRef(connector="openai", model="scripted"),
            tools=self.tools,
            prompt_template=self.template,
            max_tool_rounds=self.rounds,
        )
        words = [chat_pb2.ContentPart(text="How many?")]
        return pb.RunCompletionRequest(
            assistant=assistant,
            messages=[chat_pb2.Message(role=chat_pb2.ROLE_USER, parts=words)],
            functions=[chat_pb2.FunctionDeclaration(name=name) for name in self.functions],
            options=chat_pb2.GenerationOptions(
                extra_json=json.dumps(self.extra) if self.extra else ""
            ),
        )


def added(number: int) -> Sequence[Delta]:
    return [calls("add", json.dumps({"a": number}), identifier=f"c{number}")]


ANSWER = [says("It is "), says("3.")]
CASES = {
    "two_rounds": Case([[says("Let me see."), *added(1)], added(2), ANSWER]),
    "five_rounds": Case([*map(added, range(5)), ANSWER]),
    "never_ending_calls": Case([[calls("add", '{"a": 1}')]]),
    "never_ending_different_calls": Case([*map(added, range(9))], rounds=3),
    "ten_failures": Case(
        [[calls("broken", f'{{"query": "{r}{n}"}}', n) for n in range(5)] for r in range(9)],
        [bound("broken")],
    ),
    "two_interleaved_calls": Case(
        [
            [
                calls("add", '{"a"', 0),
                calls("library", "", 1),
                goes_on(": 4", 0),
                goes_on('{"query": "sh', 1),
                goes_on("}", 0),
                goes_on('eds"}', 1),
            ],
            ANSWER,
        ],
        [bound("adder", config={"unit": "m"}), bound("library")],
    ),
    "malformed_arguments": Case(
        [[calls("add", '{"a": 1', 0), calls("add", '{"a": "x", "c": 1}', 1)], added(1), ANSWER]
    ),
    "long_arguments_with_a_secret": Case(
        [[calls("library", f'{{"query": "sk-abcdefghijklmnop1234 {"x" * 1000}"}}')], ANSWER],
        [bound("library")],
    ),
    "a_disabled_tool": Case(
        [[calls("library", '{"query": "sheds"}')], ANSWER],
        [bound("adder"), bound("library", disabled=True)],
    ),
    "a_function_of_the_client": Case(
        [[says("One moment."), calls("add", '{"a": 1}', 0), calls("alarm", '{"at": 7}', 1)]],
        functions=["alarm"],
    ),
    "three_calls_of_which_the_second_fails": Case(
        [
            [
                calls("add", '{"a": 1}', 0),
                calls("broken", '{"query": "x"}', 1),
                calls("library", '{"query": "sheds"}', 2),
            ],
            ANSWER,
        ],
        [bound("adder"), bound("broken"), bound("library")],
    ),
    "a_failing_tool": Case([[calls("broken", '{"query": "x"}')], ANSWER], [bound("broken")]),
    "a_tool_that_nobody_has": Case([ANSWER], [bound("adder"), bound("gone")]),
    "one_name_twice": Case(
        [[calls("metres", '{"a": 1}')], ANSWER],
        [
            bound("adder", "metres", config={"unit": "m"}),
            bound("adder", "feet", config={"unit": "ft"}),
            bound("adder"),
        ],
        functions=["adder"],
    ),
    "made_to_call": Case(
        [added(1), ANSWER], extra={"tool_choice": "required", "parallel_tool_calls": False}
    ),
    "augmented_too": Case(
        [[calls("library", '{"query": "more"}')], ANSWER],
        [bound("library", mode=assistant_pb2.MODE_AUGMENT), bound("library", "shelf")],
        template="{context} {user_input}",
    ),
}


async def run_case(
    case: Case, stage: Stage, *, watched: bool
) -> tuple[list[pb.RunEvent], Upstream]:
    """Return the events of a run, and the provider with its requests."""
    upstream = stage.follow(case.turns)
    async with channel(stage.heddle.stack.orchestrator, CONTRACT) as to:
        stub = pb_grpc.OrchestratorServiceStub(to)
        if not watched:
            request = pb.RunWholeCompletionRequest(run=case.request())
            events = list((await stub.RunWholeCompletion(request, **new_call_options(20))).events)
        else:
            run = stub.RunCompletion(case.request(), **new_call_options(20))
            events = [event async for response in run for event in response.events]
    return events, upstream


def shown(events: Sequence[pb.RunEvent]) -> list[dict[str, Any]]:
    """Return events in a readable form; neighbouring texts joined, times left out."""
    joined: list[dict[str, Any]] = []
    for event in events:
        one = MessageToDict(event, preserving_proto_field_name=True)
        one.get("tool_finished", {}).pop("elapsed", None)
        if joined and set(one) == set(joined[-1]) == {"text_delta"}:
            joined[-1]["text_delta"] += one["text_delta"]
        else:
            joined.append(one)
    return joined


def requests_of(bodies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what is worth knowing of the requests that a provider got."""
    return [
        {
            "messages": body["messages"][1:],
            "tools": [tool["function"]["name"] for tool in body.get("tools", ())],
            **{name: body[name] for name in ("tool_choice", "parallel_tool_calls") if name in body},
        }
        for body in bodies
    ]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", CASES)
async def test_events_and_requests_are_as_agreed(name: str, stage: Stage) -> None:
    events, upstream = await run_case(CASES[name], stage, watched=True)

    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    assert shown(events) == golden["events"]
    assert requests_of(upstream.bodies) == golden["asked"]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", CASES)
async def test_a_whole_answer_tells_the_same_but_what_only_watchers_see(
    name: str, stage: Stage
) -> None:
    events, upstream = await run_case(CASES[name], stage, watched=False)

    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    whole_events = [e for e in golden["events"] if not {"status", "tool_started"} & set(e)]
    assert joined(shown(events)) == joined(whole_events)
    assert requests_of(upstream.bodies) == golden["asked"]


def joined(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    joined: list[dict[str, Any]] = []
    for event in events:
        if joined and set(event) == set(joined[-1]) == {"text_delta"}:
            joined[-1] = {"text_delta": joined[-1]["text_delta"] + event["text_delta"]}
        else:
            joined.append(event)
    return joined


@pytest.mark.parametrize("name", CASES)
def test_no_call_dangles_and_the_answer_is_never_missing(name: str) -> None:
    golden = json.loads((GOLDEN / f"{name}.json").read_text())

    for body in golden["asked"]:
        calls_made = [c["id"] for m in body["messages"] for c in m.get("tool_calls", ())]
        answered = [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]
        assert calls_made == answered
    *others, last = golden["events"]
    reason = last["done"]["finish_reason"]
    called = any("tool_call" in event for event in others)
    assert reason == ("FINISH_REASON_TOOL_CALLS" if called else "FINISH_REASON_STOP")
    assert called or any("text_delta" in event for event in others)


async def write_golden_files(folder: Path) -> None:
    CALLER.set(Caller("", DEVELOPER))
    async with staged(folder) as stage:
        for name, case in CASES.items():
            run, provider = await run_case(case, stage, watched=True)
            written = {"events": shown(run), "asked": requests_of(provider.bodies)}
            text = json.dumps(written, indent=1, sort_keys=True, ensure_ascii=False)
            (GOLDEN / f"{name}.json").write_text(f"{text}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(write_golden_files(Path(place)))
