"""A semaphore with a timeout that serves waiters in order."""

import asyncio

from heddle_runtime.storage.database.failures import busy


class FairSemaphore:
    """A semaphore that serves waiters in the order in which they came, each up to a timeout.

    `async with semaphore:` holds one place. A pool's own queue lets newcomers overtake waiters,
    which under load may wait in vain.
    """

    def __init__(self, size: int, patience: float) -> None:
        self._free = asyncio.Semaphore(size)
        self._patience = patience

    async def __aenter__(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError as error:
            raise busy() from error

    async def __aexit__(self, *_: object) -> None:
        self._free.release()
