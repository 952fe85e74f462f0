"""Manages sessions with MCP servers: a run's first use opens one, the end of the run closes it.

Each has a task of its own. A server's process is stopped in several steps, which must be completed
even if the caller who waited for the server is cancelled.
"""

import asyncio
import importlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

import httpx

from heddle_tools_service.providers.mcp.reachability import Reach
from heddle_tools_service.sdk import ToolError

if TYPE_CHECKING:
    from heddle_tools_service.providers.mcp.session import Session

MAX_IDLE = 8
"""The maximum number of unused sessions that stay open; beyond it, the oldest ends."""
MAX_PROCESSES = 16
"""Commands that run concurrently; more wait."""
IDLE = 30.0
"""Seconds after which an unused session ends."""
_CLOSING_SECONDS = 8.0
"""Seconds for servers to end when the service stops. The SDK kills one that does not end by itself
after 4.5 seconds and then waits for two; cancelled before that, it leaves the process."""
_SESSION = "heddle_tools_service.providers.mcp.session"


class Conversations:
    """The sessions of all runs. Neither two runs nor two users share one."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._processes = asyncio.Semaphore(MAX_PROCESSES)
        self._open: OrderedDict[Hashable, _Conversation] = OrderedDict()
        """The sessions that can be shared; unused ones in the order in which they became so."""
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def joined(self, key: Hashable, reach: Reach) -> "AsyncGenerator[Session]":
        """Yield the open session for `key`, or a new one.

        After a block that fails or is cancelled the session is not used again.

        Raises:
            ToolError: The server cannot be reached.
        """
        conversation = self._open.get(key)
        if conversation is None or conversation.over:
            conversation = self._begin(key, reach)
        conversation.users += 1
        try:
            yield await asyncio.shield(conversation.ready)  # other users may wait for it
        except ToolError:  # said by the block, of the server's tools
            raise
        except BaseException:
            self._forget(key, conversation)
            raise
        finally:
            conversation.users -= 1
            self._rest(key, conversation)

    async def close(self) -> None:
        """End all sessions."""
        for conversation in self._open.values():
            conversation.end()
        self._open.clear()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=_CLOSING_SECONDS)

    def _begin(self, key: Hashable, reach: Reach) -> "_Conversation":
        if reach.command and self._processes.locked():
            self._end_oldest(0)
        conversation = _Conversation(reach, self._http, self._processes)
        self._open[key] = conversation
        self._tasks.add(conversation.task)
        conversation.task.add_done_callback(self._tasks.discard)
        return conversation

    def _rest(self, key: Hashable, conversation: "_Conversation") -> None:
        """Keep an unused session open for `IDLE` seconds, unless it has failed."""
        if conversation.users:
            return
        if self._open.get(key) is not conversation:
            conversation.end()
            return
        self._open.move_to_end(key)
        conversation.wait(lambda: self._close(key, conversation))
        self._end_oldest(MAX_IDLE)

    def _end_oldest(self, most: int) -> None:
        idle = [
            (key, conversation)
            for key, conversation in self._open.items()
            if not conversation.users
        ]
        for key, conversation in idle[: max(len(idle) - most, 0)]:
            self._close(key, conversation)

    def _close(self, key: Hashable, conversation: "_Conversation") -> None:
        if not conversation.users:
            self._forget(key, conversation)
            conversation.end()

    def _forget(self, key: Hashable, conversation: "_Conversation") -> None:
        if self._open.get(key) is conversation:
            del self._open[key]


class _Conversation:
    def __init__(self, reach: Reach, http: httpx.AsyncClient, processes: asyncio.Semaphore) -> None:
        self.users = 0
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self.ready: asyncio.Future[Session] = self._loop.create_future()
        self.task = asyncio.create_task(self._hold(reach, http, processes))
        self.ready.add_done_callback(_forgive)
        self.task.add_done_callback(_forgive)

    @property
    def over(self) -> bool:
        """Whether the conversation has ended."""
        return self._stop.is_set() or self.task.done()

    def wait(self, end: Callable[[], None]) -> None:
        """Call `end` when the session was unused for a while."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(IDLE, end)

    def end(self) -> None:
        """Close the session, also one that is still being opened."""
        if self._timer is not None:
            self._timer.cancel()
        if not self._stop.is_set() and not self.ready.done():
            self.task.cancel()  # once: what it has begun to stop is to be stopped in order
        self._stop.set()

    async def _hold(
        self, reach: Reach, http: httpx.AsyncClient, processes: asyncio.Semaphore
    ) -> None:
        try:
            # The SDK takes a second and 20 MB, which not every installation has a use for.
            sdk = await asyncio.to_thread(importlib.import_module, _SESSION)
            turn = processes if reach.command else nullcontext()
            async with turn, sdk.session(reach, http) as session:
                self.ready.set_result(session)
                await self._stop.wait()
        except Exception as error:
            if self.ready.done():
                raise
            self.ready.set_exception(error)
        finally:
            self.ready.cancel()


def _forgive(done: "asyncio.Future[Session] | asyncio.Task[None]") -> None:
    """Read the failure, so that asyncio does not report it as never retrieved."""
    if not done.cancelled():
        done.exception()
