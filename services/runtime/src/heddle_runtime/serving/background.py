"""Runs tasks beside a block of code, and ends them with it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import Context

import structlog

log = structlog.get_logger(__name__)
HOUR = 3_600.0
DAY = 86_400.0
_MAX_RETRY_SECONDS = 60.0
_FIRST_PAUSE = 5.0
"""Seconds until the first work: a service that starts answers its first calls before."""


@asynccontextmanager
async def in_background(work: Coroutine[None, None, None]) -> AsyncGenerator[None]:
    """Run `work` in a task until the block ends, which cancels it and waits for its end.

    It has no caller: its calls are those of a service. An error of `work` is lost: it catches and
    logs its own.
    """
    task = asyncio.create_task(work, context=Context())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def repeating(
    work: Callable[[], Awaitable[None]], seconds: float, failure: str
) -> AsyncGenerator[None]:
    """Do `work` within five seconds and after each pause until the block ends.

    Args:
        work: The function to call.
        seconds: The pause; after an error a minute at most.
        failure: The text of the log line for an error, which does not end the repetition.
    """
    async with in_background(_repeat(work, seconds, failure)):
        yield


async def _repeat(work: Callable[[], Awaitable[None]], seconds: float, failure: str) -> None:
    await asyncio.sleep(min(seconds, _FIRST_PAUSE))
    while True:
        pause = seconds
        try:
            await work()
        except Exception as error:  # nothing awaits this task: an error must not end it
            # An expected error, such as of a service that has not started yet, explains itself.
            if cause := getattr(error, "message", ""):
                log.warning(failure, cause=cause, diagnosis=getattr(error, "diagnosis", ""))
            else:
                log.exception(failure)
            pause = min(seconds, _MAX_RETRY_SECONDS)
        await asyncio.sleep(pause)
