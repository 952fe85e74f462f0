"""Taking turns at something scarce."""

import asyncio

from heddle_assistants.database.failures import busy


class Turns:
    """So many at once; the others wait in the order they came, but not forever.

    `async with turns:` holds a turn. A pool's own queue lets a newcomer overtake those who wait,
    who under load may wait in vain.
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
