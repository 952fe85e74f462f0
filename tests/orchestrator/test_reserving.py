"""Answers of assistants with a quota reserve their costs before the model is asked."""

from collections.abc import AsyncIterator

import grpc
import pytest
from heddle.assistant.v1.assistant_pb2 import Price, Quota
from heddle.chat.v1.chat_pb2 import Usage as TokenUsage
from heddle_runtime.errors import ResourceExhaustedError, UnavailableError, from_rpc
from orchestrator.harness import Harness, ask, done, function, orchestrating, text
from patience import until

PRICE = Price(input_micros=1_000_000, output_micros=1_000_000)
USAGE = TokenUsage(prompt_tokens=100, completion_tokens=7)
both_ways = pytest.mark.parametrize("watched", [True, False], ids=["streamed", "whole"])


@pytest.fixture
async def limited() -> AsyncIterator[Harness]:
    """An orchestrator whose assistant has a quota."""
    async with orchestrating(usage_flush_seconds=0.02, assistant_cache_seconds=0) as running:
        running.assistants.quota = Quota(limit_micros=10**9, price=PRICE)
        running.connector.batches = [[text("Hi"), done(USAGE)]]
        yield running


async def settled(harness: Harness) -> None:
    """Wait until every reservation has ended."""
    ids = [each.reservation_id for each in harness.usage.reserved]
    await until(lambda: sorted(harness.usage.settled()) == sorted(ids))


@both_ways
async def test_an_answer_reserves_an_estimate_and_settles_it_with_its_usage(
    limited: Harness, *, watched: bool
) -> None:
    request = ask("1", "x" * 4_000)
    await (limited.events if watched else limited.whole)(request)
    request.options.max_tokens = 50
    await (limited.events if watched else limited.whole)(request)

    await settled(limited)
    first, second = limited.usage.reserved
    assert (first.assistant_id, first.model.model) == ("1", "m")
    assert 1_000 <= first.prompt_tokens < 1_100
    assert (first.completion_tokens, second.completion_tokens) == (2_000, 50)
    # No usage is recorded later than the end of its reservation.
    [recorded, *_] = [each for each in limited.usage.seen if each.settled_reservations]
    assert recorded.entries


@both_ways
async def test_an_answer_that_fails_gives_its_reservation_back(
    limited: Harness, *, watched: bool
) -> None:
    limited.connector.refusal = UnavailableError("The provider is down.")
    with pytest.raises(grpc.aio.AioRpcError):
        await (limited.events if watched else limited.whole)(ask("1"))
    assert len(limited.usage.reserved) == 1
    await settled(limited)


@both_ways
async def test_an_answer_that_does_not_fit_is_refused_before_it_begins(
    limited: Harness, *, watched: bool
) -> None:
    full = ResourceExhaustedError("Answers are under way.", retry_after=2, quota="reserved")
    limited.usage.refusals = [full, full]
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await (limited.events if watched else limited.whole)(ask("1"))
    error = from_rpc(caught.value)
    assert isinstance(error, ResourceExhaustedError)
    assert (error.retry_after, error.metadata) == (2, {"quota": "reserved"})
    assert not limited.connector.seen
    assert len(limited.usage.reserved) == 2  # again after the usage so far is recorded
    limited.usage.refusals = [full]
    await (limited.events if watched else limited.whole)(ask("1"))


async def test_every_request_to_the_model_reserves(limited: Harness) -> None:
    limited.assistants.tools = [function("look", text="T")]
    limited.connector.calls = 1
    await limited.events(ask("1"))
    assert len(limited.usage.reserved) == 2
    await settled(limited)


@both_ways
async def test_a_quota_that_nears_its_end_warns_once(limited: Harness, *, watched: bool) -> None:
    limited.assistants.tools = [function("look", text="T")]
    limited.connector.calls = 1
    limited.usage.nears_end = True
    events = await (limited.events if watched else limited.whole)(ask("1"))
    warnings = [each.warning for each in events if each.warning]
    assert warnings == ["The quota of this assistant nears its end. Tell its owner."]
    assert len(limited.usage.reserved) == 2


async def test_an_assistant_without_a_quota_reserves_nothing(limited: Harness) -> None:
    limited.assistants.quota = None
    await limited.events(ask("1"))
    await until(lambda: bool(limited.usage.entries()))
    assert not limited.usage.reserved
