"""Does in one go what several callers ask for at the same time."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Generic, TypeVar

from heddle_knowledge.errors import StorageError

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class _Wish(Generic[ItemT, ResultT]):
    """What one caller waits for."""

    def __init__(self, item: ItemT) -> None:
        self.item = item
        self.result: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()


class Together(Generic[ItemT, ResultT]):
    """Groups what is asked for.

    Whoever comes alone is served at once. Whoever comes while a group is under way waits for its
    end and is then served together with all who came meanwhile, as far as they fit, in order.
    """

    def __init__(
        self,
        act: Callable[[Sequence[ItemT]], Awaitable[Sequence[ResultT]]],
        fitting: Callable[[Sequence[ItemT]], int],
        *,
        turn: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
        at_once: int = 1,
        binding: bool = False,
    ) -> None:
        """Prepare.

        Args:
            act: Serves a group: as many results, in the same order. If it fails, each of the group
                is served alone, so that nobody fails for another's fault.
            fitting: Says how many of those who wait, from the first on, make a group; at least 1.
            turn: Entered before a group is chosen, left before its results are told.
            at_once: How many groups may be under way.
            binding: Whether a caller who is cancelled waits for the end of its group first.
        """
        self._act = act
        self._fitting = fitting
        self._turn = turn
        self._at_once = at_once
        self._binding = binding
        self._waiting: deque[_Wish[ItemT, ResultT]] = deque()
        self._leaders: set[asyncio.Task[None]] = set()

    @property
    def idle(self) -> bool:
        """Whether nobody waits and nothing is under way."""
        return not self._leaders

    async def ask(self, item: ItemT) -> ResultT:
        """Return the result for an item. Cancelled before its group is chosen, nothing is done."""
        wish: _Wish[ItemT, ResultT] = _Wish(item)
        self._waiting.append(wish)
        if len(self._leaders) < self._at_once:
            self._leaders.add(asyncio.create_task(self._lead()))
        try:
            return await asyncio.shield(wish.result)
        except asyncio.CancelledError:
            if wish in self._waiting:
                self._waiting.remove(wish)
            elif self._binding:
                await asyncio.wait([wish.result])
            wish.result.add_done_callback(asyncio.Future.exception)  # nobody else will look
            raise

    async def aclose(self) -> None:
        """End; whoever still waits fails."""
        self._refuse(_closed())
        leaders = list(self._leaders)
        for leader in leaders:
            leader.cancel()
        await asyncio.gather(*leaders, return_exceptions=True)

    async def _lead(self) -> None:
        """Serve groups until nobody waits."""
        try:
            while self._waiting:
                await self._serve(self._fitting)
        finally:  # at once: whoever comes now needs another leader
            self._leaders.discard(asyncio.current_task())

    async def _serve(self, fitting: Callable[[Sequence[ItemT]], int]) -> None:
        """Serve the next group."""
        group: list[_Wish[ItemT, ResultT]] = []
        try:
            async with self._turn():
                group = self._chosen(fitting)
                results = await self._act([wish.item for wish in group]) if group else []
        except asyncio.CancelledError:
            for wish in group:
                wish.result.set_exception(_closed())
            raise
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            if not group:  # the turn itself was refused
                self._refuse(error)
            elif len(group) == 1:
                group[0].result.set_exception(error)
            else:
                self._waiting.extendleft(reversed(group))
                for _ in group:
                    await self._serve(_one)
        else:
            for wish, result in zip(group, results, strict=True):
                wish.result.set_result(result)

    def _chosen(self, fitting: Callable[[Sequence[ItemT]], int]) -> list[_Wish[ItemT, ResultT]]:
        if not self._waiting:  # all were cancelled
            return []
        count = fitting([wish.item for wish in self._waiting])
        return [self._waiting.popleft() for _ in range(count)]

    def _refuse(self, error: Exception) -> None:
        while self._waiting:
            self._waiting.popleft().result.set_exception(error)


class Groups(Generic[ItemT, ResultT]):
    """What is asked for of several things at once, in groups for each of them."""

    def __init__(self) -> None:
        self._open: dict[str, Together[ItemT, ResultT]] = {}

    async def ask(
        self, key: str, make: Callable[[], Together[ItemT, ResultT]], item: ItemT
    ) -> ResultT:
        """Return the result for an item, together with others of the same key.

        Args:
            key: The thing that it is asked of.
            make: Makes what serves it; called if nobody else asks at the moment.
            item: What is asked for.
        """
        together = self._open.get(key) or self._open.setdefault(key, make())
        try:
            return await together.ask(item)
        finally:
            if together.idle and self._open.get(key) is together:
                del self._open[key]

    async def aclose(self) -> None:
        """End; whoever still waits fails."""
        for together in list(self._open.values()):
            await together.aclose()


def _one(_: object) -> int:
    return 1


def _closed() -> StorageError:
    return StorageError("The knowledge store was closed meanwhile. Try again once it is back.")
