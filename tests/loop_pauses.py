"""Measures how long the event loop of this process does nothing else."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

_TICK_SECONDS = 0.005


@dataclass
class Pause:
    """The longest time in which other tasks of the loop had to wait."""

    seconds: float = 0.0


@asynccontextmanager
async def longest_pause() -> AsyncGenerator[Pause]:
    """Yield the longest pause of the loop, which grows while the block runs."""
    pause = Pause()

    async def tick() -> None:
        while True:
            begun = time.monotonic()
            await asyncio.sleep(_TICK_SECONDS)
            pause.seconds = max(pause.seconds, time.monotonic() - begun - _TICK_SECONDS)

    ticking = asyncio.create_task(tick())
    try:
        yield pause
        await asyncio.sleep(2 * _TICK_SECONDS)  # a pause that is not over is not measured
    finally:
        ticking.cancel()
