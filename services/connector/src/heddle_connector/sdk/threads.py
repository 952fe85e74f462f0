"""From engines that call back in a thread to coroutines that wait."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Executor
from typing import TypeVar

ValueT = TypeVar("ValueT")
_ROOM = 64


async def from_thread(
    executor: Executor,
    work: Callable[[Callable[[ValueT], bool]], None],
    room: int = _ROOM,
) -> AsyncGenerator[list[ValueT], None]:
    """Run `work` in a thread of `executor` and yield lists of what it hands over.

    `work` gets a function to call with each value. The function waits while `room` values are
    not fetched, so a slow reader slows the engine down; it returns True when nobody reads any
    more and the engine should stop. What `work` raises is raised here, after the last value.
    Closing the generator does not wait for the thread.
    """
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    free = threading.Semaphore(room)
    values: list[ValueT] = []
    closed = False

    def take(value: ValueT) -> None:
        values.append(value)
        ready.set()

    def hand_over(value: ValueT) -> bool:
        free.acquire()
        if not closed:
            loop.call_soon_threadsafe(take, value)
        return closed

    running = loop.run_in_executor(executor, work, hand_over)
    running.add_done_callback(lambda _: ready.set())
    try:
        while True:
            await ready.wait()
            ready.clear()
            over = running.done()  # before the values are fetched: none can follow
            if values:
                fetched = values.copy()
                values.clear()
                free.release(len(fetched))
                yield fetched
            if over:
                running.result()
                return
    finally:
        closed = True
        free.release(room)  # a thread that waits for room learns that it is closed
        running.cancel()  # if it has not begun
        running.add_done_callback(_ignore)


def _ignore(finished: "asyncio.Future[None]") -> None:
    """Look at the outcome that nobody waits for, so that asyncio does not complain of it."""
    if not finished.cancelled():
        finished.exception()
