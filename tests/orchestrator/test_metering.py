"""What answers consume reaches the usage service, and quotas stop runs, over real calls."""

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest
from heddle.assistant.v1.assistant_pb2 import Price, Quota
from heddle.chat.v1.chat_pb2 import Usage as TokenUsage
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle.orchestrator.v1.orchestrator_pb2 import (
    RunCompletionRequest,
)
from heddle.usage.v1.usage_pb2 import Counts
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    QuotaExceededError,
    UnavailableError,
    Violation,
    from_rpc,
)
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_call_options
from heddle_runtime.identity.callers import Identity
from orchestrator.harness import Harness, ask, assistant, done, function, orchestrating, text, tool
from patience import until
from structlog.testing import capture_logs

SECRET = "a-secret-of-at-least-32-characters"
USAGE = TokenUsage(prompt_tokens=100, cached_tokens=40, completion_tokens=7)
KNOWN = Counts(requests=1, prompt_tokens=100, cached_tokens=40, completion_tokens=7)
UNKNOWN = Counts(requests=1, usage_unknown=1)


@pytest.fixture
async def quick() -> AsyncIterator[Harness]:
    """An orchestrator that records often and remembers no assistant."""
    async with orchestrating(usage_flush_seconds=0.02, assistant_cache_seconds=0) as running:
        yield running


async def counted(harness: Harness) -> list[Counts]:
    """Return the entries that come of what happened so far."""
    await until(lambda: bool(harness.usage.entries()))
    await asyncio.sleep(0.1)  # for what must not come
    return [entry.counts for entry in harness.usage.entries()]


@pytest.mark.parametrize("watched", [True, False], ids=["streamed", "whole"])
async def test_an_answer_counts_with_what_the_provider_says(
    quick: Harness, *, watched: bool
) -> None:
    quick.connector.batches = [[text("Hi"), done(USAGE)]]
    await (quick.events if watched else quick.whole)(ask("1"))

    assert await counted(quick) == [KNOWN]
    [entry] = quick.usage.entries()
    assert (entry.assistant_id, entry.model.connector, entry.model.model) == ("1", "scripted", "m")


@pytest.mark.parametrize("watched", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    "usage",
    [None, TokenUsage(prompt_tokens=-1), TokenUsage(completion_tokens=10**15)],
    ids=["nothing", "negative", "absurd"],
)
async def test_an_answer_whose_tokens_nobody_knows_counts_as_that(
    quick: Harness, usage: TokenUsage | None, *, watched: bool
) -> None:
    quick.connector.batches = [[text("Hi")], [done(usage)]]
    await (quick.events if watched else quick.whole)(ask("1"))
    assert await counted(quick) == [UNKNOWN]


async def test_the_model_that_answered_in_place_of_another_is_counted(quick: Harness) -> None:
    quick.connector.batches = [[done(USAGE, substitute="openai/org/small")]]
    await quick.events(ask("1"))
    await counted(quick)
    [entry] = quick.usage.entries()
    assert (entry.model.connector, entry.model.model) == ("openai", "org/small")


async def test_a_stream_that_is_left_counts_without_its_tokens(quick: Harness) -> None:
    quick.connector.batches = [[text("Hi")]] * 100_000
    stub = pb_grpc.OrchestratorServiceStub(quick.orchestrator)
    call = stub.RunCompletion(ask("1"), **new_call_options(10))
    async for _ in call:
        break
    call.cancel()
    assert await counted(quick) == [UNKNOWN]


async def test_a_stream_that_is_left_after_its_end_counts_with_its_tokens(quick: Harness) -> None:
    quick.connector.batches = [[text("Hi"), done(USAGE)]]
    stub = pb_grpc.OrchestratorServiceStub(quick.orchestrator)
    call = stub.RunCompletion(ask("1"), **new_call_options(10))
    async for response in call:
        if response.events[-1].HasField("done"):
            break
    call.cancel()
    assert await counted(quick) == [KNOWN]


async def test_an_answer_that_breaks_off_counts_and_a_refused_one_does_not(quick: Harness) -> None:
    quick.connector.batches = [[text("Hi")]]
    await refused(quick, "1")
    assert await counted(quick) == [UNKNOWN]
    quick.connector.refusal = UnavailableError("The provider is away.")
    await refused(quick, "1")
    assert await counted(quick) == [UNKNOWN]


@pytest.mark.parametrize("watched", [True, False], ids=["streamed", "whole"])
async def test_a_run_that_is_left_between_two_rounds_counts_the_first(
    quick: Harness, *, watched: bool
) -> None:
    quick.assistants.tools = [function("slow", seconds=60)]
    quick.connector.calls = 9
    quick.connector.batches = [[done(USAGE)]]
    run = asyncio.create_task(quick.events(ask("1")) if watched else quick.whole(ask("1")))
    await until(lambda: bool(quick.tools.seen))
    # Long before the run ends: a process that is killed now has lost nothing.
    assert await counted(quick) == [KNOWN]
    run.cancel()
    await quick.tools.cancelled.wait()
    assert await counted(quick) == [KNOWN]


@pytest.mark.parametrize("watched", [True, False], ids=["streamed", "whole"])
async def test_each_round_of_a_run_counts(quick: Harness, *, watched: bool) -> None:
    quick.assistants.tools = [function("quick")]
    quick.connector.calls = 2
    quick.connector.batches = [[text("Hm."), done(USAGE)]]
    events = await (quick.events if watched else quick.whole)(ask("1"))

    assert events[-1].done.usage.prompt_tokens == 3 * USAGE.prompt_tokens
    await until(lambda: sum(entry.counts.requests for entry in quick.usage.entries()) == 3)
    recorded = [entry.counts for entry in quick.usage.entries()]
    assert sum(counts.prompt_tokens for counts in recorded) == 3 * USAGE.prompt_tokens
    assert not any(counts.usage_unknown for counts in recorded)


async def test_an_assistant_sent_along_counts_for_nobody_unless_it_is_charged(
    quick: Harness,
) -> None:
    quick.connector.batches = [[done(USAGE)]]
    sent = assistant()
    sent.id = "1"
    await quick.events(ask(sent))
    await asyncio.sleep(0.1)
    assert not quick.usage.seen
    request = ask(sent)
    request.charged_to = "1"
    await quick.events(request)
    assert await counted(quick) == [KNOWN]
    request.charged_to = "2"
    with pytest.raises(NotFoundError):
        await answer(quick, request)


async def refused(harness: Harness, reference: str) -> None:
    with pytest.raises(HeddleError):
        await answer(harness, ask(reference))


async def answer(harness: Harness, request: RunCompletionRequest) -> None:
    try:
        await harness.events(request)
    except grpc.aio.AioRpcError as error:
        raise from_rpc(error) from error


async def test_usage_is_recorded_in_the_services_own_name() -> None:
    async with orchestrating(usage_flush_seconds=60, HEDDLE_IDENTITY_SECRET=SECRET) as harness:
        CALLER.set(Caller("r", Identity("ann")))
        await harness.whole(ask("1"))
    [recorded] = harness.usage.callers
    assert recorded.identity == Identity("heddle-orchestrator", scopes=("service",))


@pytest.mark.parametrize("watched", [True, False], ids=["streamed", "whole"])
async def test_a_used_up_quota_stops_a_run_before_its_tools(
    quick: Harness, *, watched: bool
) -> None:
    quick.assistants.tools = [tool("a", text="A")]
    quick.assistants.quota = Quota(limit_micros=10, spent_micros=9)
    await quick.events(ask("1"))
    quick.assistants.quota = Quota(limit_micros=10, spent_micros=10)

    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await (quick.events if watched else quick.whole)(ask("1"))

    error = from_rpc(failure.value)
    assert isinstance(error, QuotaExceededError)
    assert error.retry_after == 3600
    assert len(quick.tools.seen) == len(quick.connector.seen) == 1
    charged = ask(assistant())
    charged.charged_to = "1"
    with pytest.raises(QuotaExceededError):
        await answer(quick, charged)


async def test_what_is_not_recorded_yet_counts_against_a_remembered_quota() -> None:
    async with orchestrating(usage_flush_seconds=60, assistant_cache_seconds=60) as harness:
        price = Price(input_micros=1_000_000, output_micros=1_000_000)
        harness.assistants.quota = Quota(limit_micros=200, price=price)
        harness.connector.batches = [[done(USAGE)]]  # 60 fresh and 7 answered: 67 each
        for _ in range(3):
            await harness.events(ask("1"))
        with pytest.raises(QuotaExceededError):
            await answer(harness, ask("1"))
        assert not harness.usage.seen
    # What was left is recorded at the end.
    assert [entry.counts.requests for entry in harness.usage.entries()] == [3]


async def test_a_failed_flush_is_sent_again_as_it_was(quick: Harness) -> None:
    quick.connector.batches = [[done(USAGE)]]
    # More than the channel itself tries again.
    quick.usage.failures = [UnavailableError("The database is busy.")] * 6
    with capture_logs() as logs:
        await quick.events(ask("1"))
        await until(lambda: bool(quick.usage.seen))
        await quick.events(ask("1"))
        await until(lambda: len(quick.usage.entries()) == 8)

    first, *again, last = quick.usage.seen
    assert all(request == first for request in again)
    assert (last.recorder, last.entries[0].number) == (first.recorder, 2)
    recorded = [each["event"] for each in logs if "usage" in str(each["event"])]
    assert recorded == [
        "usage not recorded, will be retried",
        "usage recorded again",
    ]


async def test_the_end_records_what_came_after_a_failed_flush_too() -> None:
    with capture_logs() as logs:
        async with orchestrating(usage_flush_seconds=0.5, assistant_cache_seconds=0) as harness:
            harness.usage.failures = [UnavailableError("The database is busy.")] * 100
            await harness.events(ask("1"))
            await until(lambda: any("will be retried" in str(each["event"]) for each in logs))
            await harness.events(ask("1"))
            harness.usage.failures.clear()
    assert {entry.number for entry in harness.usage.entries()} == {1, 2}


async def test_what_is_refused_for_ever_does_not_stop_what_comes_after(quick: Harness) -> None:
    quick.usage.failures = [InvalidRequestError("No.", [Violation("entries", "are wrong")])]
    with capture_logs() as logs:
        await quick.events(ask("1"))
        await until(lambda: bool(quick.usage.seen))
        await quick.events(ask("1"))
        await until(lambda: len(quick.usage.seen) > 1)
    [recorded] = [each for each in logs if each["event"] == "usage lost: rejected"]
    assert recorded["problems"] == ["entries: are wrong"]
    assert [entry.number for entry in quick.usage.entries()] == [1, 2]
