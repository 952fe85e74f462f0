"""Waits for conditions that a busy machine fulfils at an unknown time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from inspect import isawaitable

_SECONDS = 30.0
_QUIET_SECONDS = 0.3


async def until(holds: Callable[[], object | Awaitable[object]], seconds: float = _SECONDS) -> None:
    """Wait until `holds`, a function or a coroutine function, returns something true.

    Raises:
        AssertionError: It did not within `seconds`.
    """
    end = time.monotonic() + seconds
    while not await _result(holds()):
        assert time.monotonic() < end, f"what was waited for did not come in {seconds} seconds"
        await asyncio.sleep(0.005)


async def settled(count: Callable[[], int], seconds: float = _SECONDS) -> int:
    """Wait until `count` returns the same number above zero for a while, and return it.

    Raises:
        AssertionError: It was zero, or still changed, after `seconds`.
    """
    end = time.monotonic() + seconds
    value, since = count(), time.monotonic()
    while value == 0 or time.monotonic() < since + _QUIET_SECONDS:
        assert time.monotonic() < end, f"the count is {value} and still changes"
        await asyncio.sleep(0.005)
        if (current := count()) != value:
            value, since = current, time.monotonic()
    return value


async def _result(value: object) -> object:
    return await value if isawaitable(value) else value
