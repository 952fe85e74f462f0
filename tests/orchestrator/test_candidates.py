"""Several answers to one prompt."""

import asyncio
from collections.abc import Sequence

import grpc
import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_orchestrator.candidates import Answer, check_candidates, together
from heddle_runtime.errors import InvalidRequestError, UnavailableError, from_rpc
from orchestrator.harness import (
    Harness,
    ask,
    assistant,
    done,
    function,
    kinds,
    orchestrating,
    text,
    tool,
)
from patience import until

USAGE = chat_pb2.Usage(prompt_tokens=5, completion_tokens=2)


def several(
    count: int, *tools: assistant_pb2.ToolBinding, hosts: str = "", strategy: str = ""
) -> pb.RunCompletionRequest:
    target = assistant(*tools, template="{context}{user_input}" if tools else "", strategy=strategy)
    target.output_hosts = hosts
    request = ask(target)
    request.candidates = count
    return request


def texts(events: Sequence[pb.RunEvent]) -> dict[int, str]:
    collected: dict[int, str] = {}
    for event in events:
        if event.HasField("text_delta"):
            collected[event.candidate] = collected.get(event.candidate, "") + event.text_delta
    return collected


@pytest.mark.parametrize("whole", [False, True])
async def test_tools_run_once_and_each_answer_has_its_own_text_and_end(
    harness: Harness, *, whole: bool
) -> None:
    harness.connector.batches = [[text("Hel")], [text("lo"), done(USAGE)]]
    answered = harness.whole if whole else harness.events

    events = await answered(several(3, tool("a", "context", text="FOUND")))

    assert texts(events) == {0: "Hello", 1: "Hello", 2: "Hello"}
    assert [(each.candidate, each.done.usage) for each in events[-3:]] == [
        *((0, USAGE), (1, USAGE), (2, USAGE)),
    ]
    assert kinds(events).count("tool_finished") == len(harness.tools.seen) == 1
    prompts = [each.messages[-1].parts[0].text for each in harness.connector.seen]
    assert len(prompts) == 3
    assert len(set(prompts)) == 1


async def test_each_answer_is_filtered_by_itself(harness: Harness) -> None:
    # Each text is held back in the middle of its address.
    harness.connector.batches = [[text("[a](https://bad.")], [text("example/x) b"), done()]]
    for answered in (harness.events, harness.whole):
        events = await answered(several(2, hosts="good.example"))
        first, second = texts(events).values()
        assert first == second
        assert "bad.example" not in first
        assert first.endswith(" b")


async def test_the_costs_of_each_answer_are_counted() -> None:
    async with orchestrating(usage_flush_seconds=0.01) as harness:
        harness.connector.batches = [[text("Hello"), done(USAGE)]]
        request = ask("1")
        request.candidates = 2
        await harness.events(request)
        await until(lambda: tokens(harness) == 10)


def tokens(harness: Harness) -> int:
    return sum(entry.counts.prompt_tokens for entry in harness.usage.entries())


async def test_an_answer_that_fails_ends_all(harness: Harness) -> None:
    harness.connector.refusal = UnavailableError("The provider sleeps.")
    for answered in (harness.events, harness.whole):
        with pytest.raises(grpc.aio.AioRpcError, match="The provider sleeps"):
            await answered(several(4))


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (several(9), "from 1 to 8"),
        (several(-1), "from 1 to 8"),
        (several(2, function("look")), "calls functions"),
        (several(2, strategy="agent"), "calls functions"),
    ],
    ids=["too_many", "negative", "functions", "agent"],
)
async def test_so_many_answers_are_refused(
    harness: Harness, request_: pb.RunCompletionRequest, reason: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await harness.events(request_)
    (violation,) = from_rpc(caught.value).violations
    assert violation.field == "candidates"
    assert reason in violation.description
    assert not harness.connector.seen


def test_one_answer_is_always_allowed() -> None:
    for count in (0, 1):
        check_candidates(count, loops=True)
    with pytest.raises(InvalidRequestError):
        check_candidates(2, loops=True)


async def test_who_stops_reading_stops_all_answers() -> None:
    stopped: list[int] = []

    async def endless(number: int) -> Answer:
        try:
            while True:
                await asyncio.sleep(0)
                yield pb.RunCompletionResponse(events=[pb.RunEvent(text_delta="a")])
        finally:
            stopped.append(number)

    answers = together([endless(0), endless(1)])
    await anext(answers)
    await answers.aclose()
    assert sorted(stopped) == [0, 1]
