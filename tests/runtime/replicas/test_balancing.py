"""Calls are balanced over replicas that are added, killed and removed while clients call them."""

import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from patience import until
from runtime.replicas.client import TASKS
from runtime.replicas.deployment import KINDS, NAME, Calls, Deployment, deployment

SHARE = 0.4
SHARE_OF_A_KIND = 0.3
"""Replicas take turns for calls of all kinds together."""
SOON = 5.0
"""Seconds in which a change is noticed."""
MANY = 30
"""Calls of each kind that are open when a replica is killed."""
UNAVAILABLE = "UNAVAILABLE"


@pytest.fixture(params=["1", pytest.param("0", marks=pytest.mark.exhaustive)])
async def deployed(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Deployment]:
    """Replicas with and without multiplexed calls."""
    async with deployment(tmp_path, HEDDLE_MULTIPLEXING=request.param) as started:
        yield started


def is_shared(outcomes: Counter[str], processes: set[str], share: float = SHARE) -> bool:
    """Return whether two processes answered all calls, each at least its share."""
    return set(outcomes) == processes and min(outcomes.values()) >= share * outcomes.total()


async def shared_soon(calls: Calls, processes: set[str]) -> float:
    """Wait until `processes` share the latest calls of every kind; return the seconds."""

    def latest(kind: str) -> Counter[str]:
        return Counter([it for each, it in calls.outcomes if each == kind][-20:])

    begin = time.monotonic()
    await until(lambda: all(is_shared(latest(kind), processes) for kind in KINDS), 60)
    return time.monotonic() - begin


@pytest.mark.parametrize(
    "form",
    [
        f"{NAME}:{{0}}",
        pytest.param(f"dns:///{NAME}:{{0}}", marks=pytest.mark.exhaustive),
        pytest.param("127.0.0.1:{0},127.0.0.2:{0}", marks=pytest.mark.exhaustive),
    ],
)
async def test_two_replicas_share_calls_of_every_kind(tmp_path: Path, form: str) -> None:
    async with deployment(tmp_path) as deployed:
        processes = {await deployed.start(number) for number in (1, 2)}
        deployed.name(1, 2)
        calls = await deployed.client(form.format(deployed.port))
        await calls.more(20)
        start = await calls.more()
        assert is_shared(calls.since(start), processes), calls.since(start)
        for kind in KINDS:
            outcomes = calls.since(start, kind)
            assert is_shared(outcomes, processes, SHARE_OF_A_KIND), (kind, outcomes)


@pytest.mark.exhaustive
async def test_a_replica_that_is_killed_gets_no_calls_until_it_is_back(
    deployed: Deployment,
) -> None:
    processes = {await deployed.start(number) for number in (1, 2)}
    deployed.name(1, 2)
    calls = await deployed.client(f"{NAME}:{deployed.port}")
    await shared_soon(calls, processes)
    killed, staying = (str(deployed.running[number].pid) for number in (1, 2))

    start = len(calls.outcomes)
    await deployed.kill(1)
    await calls.more(50)
    after = await calls.more()
    for kind in KINDS:
        outcomes = calls.since(start, kind)
        expected = (
            {killed, staying} if kind in ("safe", "large") else {killed, staying, UNAVAILABLE}
        )
        assert set(outcomes) <= expected, (kind, outcomes)
        assert outcomes[UNAVAILABLE] <= 2 * TASKS, (kind, outcomes)
        assert set(calls.since(after, kind)) == {staying}

    processes = {staying, await deployed.start(1)}
    assert await shared_soon(calls, processes) < SOON
    assert set(calls.since(after)) == processes


async def test_no_safe_call_of_many_fails_when_a_replica_is_killed(deployed: Deployment) -> None:
    processes = {await deployed.start(number) for number in (1, 2)}
    deployed.name(1, 2)
    calls = await deployed.client(f"{NAME}:{deployed.port}", tasks=MANY)
    await shared_soon(calls, processes)

    start = len(calls.outcomes)
    await deployed.kill(1)
    await calls.more(2 * MANY)
    for kind in ("safe", "large"):
        outcomes = calls.since(start, kind)
        assert set(outcomes) <= processes, (kind, outcomes)


@pytest.mark.exhaustive
async def test_a_replica_that_is_added_gets_its_share_and_one_that_is_removed_gets_no_calls(
    deployed: Deployment,
) -> None:
    first = await deployed.start(1)
    deployed.name(1)
    calls = await deployed.client(f"{NAME}:{deployed.port}")
    start = await calls.more(20)
    assert set(calls.since(start)) == {first}

    second = await deployed.start(2)
    deployed.name(1, 2)
    assert await shared_soon(calls, {first, second}) < SOON

    deployed.name(2)
    begin = time.monotonic()
    while True:
        removed = await calls.more(10)
        if set(calls.since(removed)) == {second}:
            break
        assert time.monotonic() < begin + SOON
    assert set(calls.since(0)) == {first, second}


@pytest.mark.exhaustive
async def test_known_replicas_stay_while_names_cannot_be_looked_up(
    tmp_path: Path,
) -> None:
    async with deployment(tmp_path) as deployed:
        processes = {await deployed.start(number) for number in (1, 2)}
        deployed.name(1, 2)
        calls = await deployed.client(f"{NAME}:{deployed.port}")
        await shared_soon(calls, processes)
        deployed.name()
        await until(lambda: "cannot look up a service" in calls.log.read_text())
        start = await calls.more(20)
        assert set(calls.since(start)) == processes
