"""`heddle_runtime.rpc.deadlines`."""

import asyncio
import time

import pytest
from heddle_runtime.rpc.deadlines import Deadlines

SOON, LATER, NEVER = 0.02, 0.06, 60.0


class Waiting:
    def __init__(self) -> None:
        self.expired: list[float] = []

    def expire(self) -> None:
        self.expired.append(time.monotonic())


@pytest.mark.parametrize("order", [(SOON, LATER, NEVER), (NEVER, LATER, SOON)])
async def test_each_expires_once_and_not_before_its_time(order: tuple[float, ...]) -> None:
    deadlines, begun = Deadlines(), time.monotonic()
    waiting = {seconds: Waiting() for seconds in order}

    for seconds, each in waiting.items():
        deadlines.add(each, begun + seconds)
    while not waiting[LATER].expired:
        await asyncio.sleep(SOON)

    assert [moment >= begun + SOON for moment in waiting[SOON].expired] == [True]
    assert [moment >= begun + LATER for moment in waiting[LATER].expired] == [True]
    assert not waiting[NEVER].expired


async def test_what_is_over_expires_no_more_and_delays_nothing() -> None:
    deadlines, begun = Deadlines(), time.monotonic()
    over, other = Waiting(), Waiting()

    deadlines.add(over, begun + SOON)
    deadlines.add(other, begun + LATER)
    deadlines.discard(over)
    deadlines.discard(over)
    while not other.expired:
        await asyncio.sleep(SOON)

    assert not over.expired


async def test_what_is_added_when_something_expires_has_its_own_time() -> None:
    deadlines, following = Deadlines(), Waiting()

    class First(Waiting):
        def expire(self) -> None:
            deadlines.add(following, time.monotonic() + SOON)

    deadlines.add(First(), time.monotonic() - 1)
    while not following.expired:
        await asyncio.sleep(SOON)

    assert len(following.expired) == 1
