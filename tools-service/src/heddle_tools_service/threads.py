"""Runs ordinary functions in threads, so that a blocking tool does not stop the event loop."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress


class Threads:
    """Threads for tools. The limit is per tool, so that a tool that hangs blocks no other.

    Not an executor: the interpreter waits for an executor's threads when it ends, and Python has no
    way to stop a thread that hangs. These are abandoned then.
    """

    def __init__(self, each: int) -> None:
        self._each = each
        self._gates: dict[str, asyncio.Semaphore] = {}

    async def run(self, tool: str, function: Callable[[], object]) -> object:
        """Call `function` in a thread of `tool` and return its result.

        If the caller stops waiting, the thread goes on and keeps its place until it ends.

        Raises:
            RuntimeError: The system has no thread to give.
            Exception: What `function` raises.
        """
        gate = self._gates.setdefault(tool, asyncio.Semaphore(self._each))
        await gate.acquire()
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        future: Future[object] = Future()
        future.set_running_or_notify_cancel()

        def work() -> None:
            try:
                future.set_result(context.run(function))
            except BaseException as error:  # noqa: BLE001 - handed to the caller
                future.set_exception(_as_exception(error))
            with suppress(RuntimeError):  # the loop is closed: the service has ended
                loop.call_soon_threadsafe(gate.release)

        try:
            threading.Thread(target=work, name=f"tool-{tool}", daemon=True).start()
        except BaseException:  # its place is free again
            gate.release()
            raise
        return await asyncio.wrap_future(future)


def _as_exception(raised: BaseException) -> BaseException:
    """Return an exception that a future takes and that ends nothing but the tool."""
    if isinstance(raised, StopIteration | SystemExit | KeyboardInterrupt | GeneratorExit):
        return RuntimeError(f"the tool raised {type(raised).__name__}")
    return raised
