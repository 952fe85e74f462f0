"""Runs ordinary functions in threads, so that a tool that waits never stops the event loop."""

import asyncio
import contextvars
import threading
from collections.abc import Callable


class Threads:
    """Threads for tools, a few for each tool, so that one that hangs leaves the others theirs.

    Not an executor: the interpreter waits for an executor's threads when it ends, and Python has no
    way to stop a thread that hangs. These are abandoned then.
    """

    def __init__(self, each: int) -> None:
        self._each = each
        self._gates: dict[str, asyncio.Semaphore] = {}

    async def run(self, tool: str, function: Callable[[], object]) -> object:
        """Return what `function` returns, called in a thread of `tool`.

        If the caller stops waiting, the thread goes on and keeps its place until it ends.

        Raises:
            RuntimeError: The system has no thread to give.
            Exception: What `function` raises.
        """
        gate = self._gates.setdefault(tool, asyncio.Semaphore(self._each))
        await gate.acquire()
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[object] = loop.create_future()

        def settle(value: object, error: BaseException | None) -> None:
            gate.release()
            if outcome.done():  # nobody waits any more
                return
            if error is None:
                outcome.set_result(value)
            else:
                outcome.set_exception(error)

        def work() -> None:
            value: object = None
            error: BaseException | None = None
            try:
                value = context.run(function)
            except BaseException as raised:  # noqa: BLE001 - handed to the one who waits
                error = _as_exception(raised)
            try:
                loop.call_soon_threadsafe(settle, value, error)
            except RuntimeError:  # the loop is closed: the service has ended
                return

        context = contextvars.copy_context()
        try:
            threading.Thread(target=work, name=f"tool-{tool}", daemon=True).start()
        except BaseException:  # its place is free again
            gate.release()
            raise
        return await outcome


def _as_exception(raised: BaseException) -> BaseException:
    """Return an exception that a future takes and that ends nothing but the tool."""
    if isinstance(raised, StopIteration | SystemExit | KeyboardInterrupt | GeneratorExit):
        return RuntimeError(f"the tool raised {type(raised).__name__}")
    return raised
