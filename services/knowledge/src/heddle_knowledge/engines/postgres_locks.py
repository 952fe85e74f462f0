"""Locks between all processes that use a database: its advisory ones.

Each holder has a connection of its own, so that waiting for locks never takes the connections that
their holders need to get on. The database drops the locks of a connection that ends.
"""

import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import asyncpg

from heddle_knowledge.engines.locks import Locks

_SPACE = zlib.crc32(b"heddle knowledge") & 0x7FFFFFFF


class AdvisoryLocks(Locks):
    """Locks by name, within this process and between processes."""

    def __init__(self, connect: Callable[[], Awaitable[asyncpg.Connection]]) -> None:
        super().__init__()
        self._connect = connect

    @asynccontextmanager
    async def locked(self, name: str) -> AsyncGenerator[None]:
        """Exclude others, wait for them."""
        async with super().locked(name), self._connected() as connection:
            await connection.execute("SELECT pg_advisory_lock($1, $2)", _SPACE, _number(name))
            yield

    @asynccontextmanager
    async def locked_if_free(self, name: str) -> AsyncGenerator[bool]:
        """Exclude others if there are none."""
        async with super().locked_if_free(name) as free, self._connected() as connection:
            locked = "SELECT pg_try_advisory_lock($1, $2)"
            yield free and bool(await connection.fetchval(locked, _SPACE, _number(name)))

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[asyncpg.Connection]:
        connection = await self._connect()
        try:
            yield connection
        finally:
            connection.terminate()


def _number(name: str) -> int:
    number = zlib.crc32(name.encode())
    return number - 2**32 if number >= 2**31 else number
