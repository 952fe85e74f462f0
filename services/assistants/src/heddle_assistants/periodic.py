"""Work that is done again and again beside a server."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog
from heddle_runtime.background import in_background

log = structlog.get_logger(__name__)
HOUR = 3_600.0
DAY = 86_400.0


@asynccontextmanager
async def repeating(
    work: Callable[[], Awaitable[None]], seconds: float, failure: str
) -> AsyncGenerator[None]:
    """Do `work` now and after each pause until the block ends.

    Args:
        work: What to do.
        seconds: The pause.
        failure: What the log says of an error, which does not end the repetition.
    """
    async with in_background(_repeat(work, seconds, failure)):
        yield


async def _repeat(work: Callable[[], Awaitable[None]], seconds: float, failure: str) -> None:
    while True:
        try:
            await work()
        except Exception:  # nothing awaits this task: an error must not end it
            log.exception(failure)
        await asyncio.sleep(seconds)
