"""Asks tools what they are asked besides being run: whether they are of use, what they offer."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

AnswerT = TypeVar("AnswerT")


async def answer_of(question: Awaitable[AnswerT], seconds: float) -> AnswerT:
    """Return the answer, however the author of a tool has written what gives it.

    Args:
        question: What to await.
        seconds: How long it may take.

    Raises:
        TimeoutError: It takes longer.
        RuntimeError: It ends in a way that would end the call, or the whole service.
        Exception: What it raises itself.
    """
    task = asyncio.current_task()
    try:
        async with asyncio.timeout(seconds):
            return await question
    except SystemExit as error:
        raise RuntimeError("the tool called sys.exit") from error
    except asyncio.CancelledError as error:
        if task is None or task.cancelling():  # nobody waits for the answer any more
            raise
        raise RuntimeError("the tool cancelled itself") from error
