"""Waiting for what a busy machine does in its own time."""

import asyncio
import time
from collections.abc import Callable

_SECONDS = 30.0


async def until(holds: Callable[[], object], seconds: float = _SECONDS) -> None:
    """Wait until `holds` returns something true.

    Raises:
        AssertionError: It did not within `seconds`.
    """
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"what was waited for did not come in {seconds} seconds"
        await asyncio.sleep(0.005)
