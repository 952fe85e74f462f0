"""A pool of connections of the bare driver, for fast reads of single rows."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import asyncpg

from heddle_runtime.storage.database.failures import translated_errors, unreachable
from heddle_runtime.storage.database.semaphore import FairSemaphore

# A class that takes a parameter in its stubs only.
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
_LOST = (
    OSError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
)


class Connections:
    """Lends each connection to one read at a time. Connects on demand."""

    def __init__(
        self, connect: Callable[[], Awaitable[Connection]], name: str, size: int, patience: float
    ) -> None:
        self._connect = connect
        self._name = name
        self._semaphore = FairSemaphore(size, patience)
        self._free: list[Connection] = []

    async def fetch_row(self, text: str, values: Sequence[object]) -> asyncpg.Record | None:
        """Run a query; repeat it once if the connection proves dead, because it changes nothing."""
        with translated_errors(self._name):
            try:
                return await self._fetch_row(text, values)
            except _LOST:
                self._drop()
            try:
                return await self._fetch_row(text, values)
            except _LOST as error:
                raise unreachable() from error

    async def close(self) -> None:
        """Close the connections that are not in use."""
        while self._free:
            await self._free.pop().close(timeout=2)

    def _drop(self) -> None:
        # One that died because the server did has company.
        while self._free:
            self._free.pop().terminate()

    async def _fetch_row(self, text: str, values: Sequence[object]) -> asyncpg.Record | None:
        async with self._semaphore:
            # The last one used is the first one taken: few callers keep few connections warm.
            connection = self._free.pop() if self._free else await self._connect()
            if connection.is_closed():
                connection = await self._connect()
            try:
                row = await connection.fetchrow(text, *values)
            except BaseException:
                connection.terminate()  # a call that was cut off leaves an answer on its way
                raise
            self._free.append(connection)
            return row
