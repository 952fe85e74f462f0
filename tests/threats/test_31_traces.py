"""Threat 31: a trace shows the prompt of an assistant to a user who may not read it."""

from pathlib import Path

import grpc
import pytest
from gateway.essays import EXAMPLE
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.identity.callers import Identity
from threats.tenants import COLLEAGUE, OWNER, Tenants, called_by, tenants

RUBRIC_TITLE = "magpie-feather-title"
SYSTEM_PROMPT = "You are the loom."


async def run(
    heddle: Tenants, person: Identity, assistant: str, *, include_trace: bool
) -> list[pb.RunEvent]:
    """Return the events of the streamed and the whole run."""
    question = chat_pb2.ContentPart(text="What is a shed?")
    request = pb.RunCompletionRequest(
        assistant_reference=assistant,
        messages=[chat_pb2.Message(role=chat_pb2.ROLE_USER, parts=[question])],
        include_trace=include_trace,
    )
    stub = pb_grpc.OrchestratorServiceStub(heddle.orchestrator)
    streamed = stub.RunCompletion(request, **called_by(person))
    events = [event async for response in streamed for event in response.events]
    whole = pb.RunWholeCompletionRequest(run=request)
    return [*events, *(await stub.RunWholeCompletion(whole, **called_by(person))).events]


async def test_only_who_may_read_the_assistant_gets_a_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tenants(tmp_path, monkeypatch) as heddle:
        content = EXAMPLE | {"title": RUBRIC_TITLE}
        rubric = await heddle.create(OWNER, "/rubrics", json={"public": False, "content": content})
        tool = {"type": "rubric", "config": {"rubric_id": rubric}}
        members = {"prompt_template": "{rubric}{user_input}", "system_prompt": SYSTEM_PROMPT}
        numbers = {
            verbose: await heddle.assistant(
                OWNER, f"tutor_{verbose}", tool, published=True, verbose=verbose, **members
            )
            for verbose in (False, True)
        }
        traces = {
            (person.subject, verbose): [
                event.trace
                for event in await run(heddle, person, number, include_trace=False)
                if event.HasField("trace")
            ]
            for person in (OWNER, COLLEAGUE)
            for verbose, number in numbers.items()
        }
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await run(heddle, COLLEAGUE, numbers[False], include_trace=True)
        owners = await run(heddle, OWNER, numbers[False], include_trace=True)
        answers = [
            await heddle.ask(COLLEAGUE, numbers[True], stream=stream) for stream in (False, True)
        ]

    assert {of: len(several) for of, several in traces.items()} == {
        (OWNER.subject, False): 0,
        (OWNER.subject, True): 2,
        (COLLEAGUE.subject, False): 0,
        (COLLEAGUE.subject, True): 0,
    }
    assert refusal.value.code() == grpc.StatusCode.PERMISSION_DENIED
    for trace in traces[OWNER.subject, True]:
        assert SYSTEM_PROMPT in str(trace.prompt)
        assert RUBRIC_TITLE not in str(trace)
    assert sum(event.HasField("trace") for event in owners) == 2
    assert not [
        answer for answer in answers if '"trace"' in answer.text or '"steps":' in answer.text
    ]
