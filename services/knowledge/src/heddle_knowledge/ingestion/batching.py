"""Batches concurrent requests."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import Context
from typing import Generic, TypeVar

from heddle_runtime.serving.fair_slots import NOBODY, Tenant, in_turn

from heddle_knowledge.errors import StorageError

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class _Request(Generic[ItemT, ResultT]):
    def __init__(self, item: ItemT, tenant: Tenant | None) -> None:
        self.item = item
        self.tenant = tenant
        self.result: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()


class Batcher(Generic[ItemT, ResultT]):
    """Processes the items of concurrent requests in batches.

    An item that arrives while nothing is processed is processed at once. Items that arrive while
    as many batches are processed as allowed wait, and are then processed together: one item of
    each organisation in turn, and of an organisation one of each owner; else in order.
    """

    def __init__(
        self,
        process: Callable[[Sequence[ItemT]], Awaitable[Sequence[ResultT]]],
        batch_size: Callable[[Sequence[ItemT]], int],
        *,
        lock: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
        max_batches: int = 1,
        uninterruptible: bool = False,
    ) -> None:
        """Prepare.

        Args:
            process: Processes a batch and returns as many results, in the same order. If it fails,
                each item of the batch is processed alone, so that only the item at fault fails.
            batch_size: Returns how many of the waiting items, from the first on, make the next
                batch; at least 1.
            lock: Entered before a batch is formed, exited before its results are returned.
            max_batches: How many batches may be processed at the same time.
            uninterruptible: Whether a cancelled request waits for the end of its batch.
        """
        self._process = process
        self._batch_size = batch_size
        self._lock = lock
        self._max_batches = max_batches
        self._uninterruptible = uninterruptible
        self._waiting: deque[_Request[ItemT, ResultT]] = deque()
        self._workers: set[asyncio.Task[None]] = set()
        self._latest: frozenset[str] = frozenset()
        """The organisations of the latest batch. Others come before them."""

    @property
    def idle(self) -> bool:
        """Whether no item waits or is processed."""
        return not self._workers

    async def submit(self, item: ItemT, tenant: Tenant | None = None) -> ResultT:
        """Return the result of an item. An item cancelled while it waits is not processed."""
        request: _Request[ItemT, ResultT] = _Request(item, tenant)
        self._waiting.append(request)
        if len(self._workers) < self._max_batches:
            # In a context without a caller: a batch has items of several.
            self._workers.add(asyncio.create_task(self._work(), context=Context()))
        try:
            return await asyncio.shield(request.result)
        except asyncio.CancelledError:
            if request in self._waiting:
                self._waiting.remove(request)
            elif self._uninterruptible:
                await asyncio.wait([request.result])
            # Retrieve the exception: asyncio would log it as never retrieved.
            request.result.add_done_callback(asyncio.Future.exception)
            raise

    async def aclose(self) -> None:
        """Stop; unfinished requests fail with `StorageError`."""
        self._fail_waiting(_closed())
        workers = list(self._workers)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self) -> None:
        """Process batches until no item waits."""
        try:
            while self._waiting:
                await self._process_next()
        finally:  # without an await in between: the next item needs a new worker
            self._workers.discard(asyncio.current_task())

    async def _process_next(self) -> None:
        batch: list[_Request[ItemT, ResultT]] = []
        try:
            async with self._lock():
                batch = self._take()
                results = await self._results(batch)
        except asyncio.CancelledError:
            for request in batch:
                request.result.set_exception(_closed())
            raise
        except Exception as error:  # noqa: BLE001 - the requests fail with it
            if not batch:  # the lock failed
                self._fail_waiting(error)
            elif len(batch) == 1:
                batch[0].result.set_exception(error)
            else:
                await self._process_each(batch)
        else:
            for request, result in zip(batch, results, strict=True):
                request.result.set_result(result)

    async def _process_each(self, batch: Sequence[_Request[ItemT, ResultT]]) -> None:
        try:
            for request in batch:
                await self._process_alone(request)
        except asyncio.CancelledError:
            for request in batch:
                if not request.result.done():
                    request.result.set_exception(_closed())
            raise

    async def _process_alone(self, request: _Request[ItemT, ResultT]) -> None:
        try:
            async with self._lock():
                [result] = await self._results([request])
        except Exception as error:  # noqa: BLE001 - the request fails with it
            request.result.set_exception(error)
        else:
            request.result.set_result(result)

    async def _results(self, batch: Sequence[_Request[ItemT, ResultT]]) -> Sequence[ResultT]:
        return await self._process([request.item for request in batch]) if batch else []

    def _take(self) -> list[_Request[ItemT, ResultT]]:
        if not self._waiting:  # all were cancelled
            return []
        waiting = sorted(self._waiting, key=lambda it: _tenant(it).organization in self._latest)
        ordered = in_turn(waiting, _tenant)
        count = self._batch_size([request.item for request in ordered])
        self._waiting = deque(ordered[count:])
        self._latest = frozenset(_tenant(request).organization for request in ordered[:count])
        return ordered[:count]

    def _fail_waiting(self, error: Exception) -> None:
        while self._waiting:
            self._waiting.popleft().result.set_exception(error)


class KeyedBatcher(Generic[ItemT, ResultT]):
    """Batches concurrent requests separately for each key."""

    def __init__(self) -> None:
        self._batchers: dict[str, Batcher[ItemT, ResultT]] = {}

    async def submit(
        self,
        key: str,
        make_batcher: Callable[[], Batcher[ItemT, ResultT]],
        item: ItemT,
        tenant: Tenant | None = None,
    ) -> ResultT:
        """Return the result of an item, which is batched with others of the same key.

        Args:
            key: For example the collection that the item belongs to.
            make_batcher: Called if no other request of this key is in progress.
            item: What to process.
            tenant: The tenant of the item; tenants take turns.
        """
        batcher = self._batchers.get(key) or self._batchers.setdefault(key, make_batcher())
        try:
            return await batcher.submit(item, tenant)
        finally:
            if batcher.idle and self._batchers.get(key) is batcher:
                del self._batchers[key]

    async def aclose(self) -> None:
        """Stop; unfinished requests fail with `StorageError`."""
        for batcher in list(self._batchers.values()):
            await batcher.aclose()


def _tenant(request: "_Request[ItemT, ResultT]") -> Tenant:
    return request.tenant or NOBODY


def _closed() -> StorageError:
    return StorageError("The knowledge store was closed meanwhile. Try again once it is back.")
