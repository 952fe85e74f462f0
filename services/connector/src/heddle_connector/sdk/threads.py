"""Passes values from a thread, in which an engine calls back, to a coroutine."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Executor
from typing import TypeVar

ValueT = TypeVar("ValueT")
_CAPACITY = 64


async def from_thread(
    executor: Executor,
    work: Callable[[Callable[[ValueT], bool]], None],
    capacity: int = _CAPACITY,
) -> AsyncGenerator[list[ValueT], None]:
    """Run `work` in a thread of `executor` and yield lists of the values that it emits.

    `work` receives a function to call with each value. The function blocks while `capacity` values
    are waiting, so a slow reader slows the engine down. It returns True when the reader has left
    and the engine should stop. An exception of `work` is raised here after the last value.
    Closing the generator does not wait for the thread.
    """
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    free = threading.Semaphore(capacity)
    values: list[ValueT] = []
    closed = False

    def append(value: ValueT) -> None:
        values.append(value)
        ready.set()

    def emit(value: ValueT) -> bool:
        free.acquire()
        if not closed:
            loop.call_soon_threadsafe(append, value)
        return closed

    running = loop.run_in_executor(executor, work, emit)
    running.add_done_callback(lambda _: ready.set())
    try:
        while True:
            await ready.wait()
            ready.clear()
            finished = running.done()  # read first: no value can follow
            if values:
                fetched = values.copy()
                values.clear()
                free.release(len(fetched))
                yield fetched
            if finished:
                running.result()
                return
    finally:
        closed = True
        free.release(capacity)  # wakes a thread that waits for capacity
        running.cancel()  # effective only if it has not started
        running.add_done_callback(_ignore)


def _ignore(finished: "asyncio.Future[None]") -> None:
    """Read the result, so that asyncio does not report an exception that was never retrieved."""
    if not finished.cancelled():
        finished.exception()
