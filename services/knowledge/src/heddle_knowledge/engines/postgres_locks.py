"""Locks between all processes that use a database: its advisory ones, held by one connection.

The database drops them when their holder dies. Only one connection of a process holds them, so
that waiting for locks never takes the connections that their holders need to get on.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import asyncpg

from heddle_knowledge.engines.locks import Locks

_SHORTEST_WAIT = 0.005
_LONGEST_WAIT = 0.1
_SPACE = zlib.crc32(b"heddle knowledge") & 0x7FFFFFFF


class AdvisoryLocks(Locks):
    """Locks by name, within this process and between processes."""

    def __init__(self, connect: Callable[[], Awaitable[asyncpg.Connection]]) -> None:
        """Prepare; `connect` makes the connection at first need, and again when it is lost."""
        super().__init__()
        self._connect = connect
        self._connection: asyncpg.Connection | None = None
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def locked(self, name: str) -> AsyncGenerator[None]:
        """Exclude others, wait for them."""
        async with super().locked(name):
            wait = _SHORTEST_WAIT
            while not await self._taken(name):
                await asyncio.sleep(wait)
                wait = min(wait * 2, _LONGEST_WAIT)
            try:
                yield
            finally:
                await asyncio.shield(self._free(name))

    @asynccontextmanager
    async def locked_if_free(self, name: str) -> AsyncGenerator[bool]:
        """Exclude others if there are none."""
        async with super().locked_if_free(name) as free:
            mine = free and await self._taken(name)
            try:
                yield mine
            finally:
                if mine:
                    await asyncio.shield(self._free(name))

    async def aclose(self) -> None:
        """Free all."""
        if self._connection is not None:
            await self._connection.close()

    async def _taken(self, name: str) -> bool:
        taking = asyncio.ensure_future(self._ask("SELECT pg_try_advisory_lock($1, $2)", name))
        try:
            return bool(await asyncio.shield(taking))
        except asyncio.CancelledError:
            if await taking:  # nobody else would give it back
                await self._free(name)
            raise

    async def _free(self, name: str) -> None:
        await self._ask("SELECT pg_advisory_unlock($1, $2)", name)

    async def _ask(self, statement: str, name: str) -> object:
        async with self._turn:
            if self._connection is None or self._connection.is_closed():
                self._connection = await self._connect()
            number = zlib.crc32(name.encode())
            signed = number - 2**32 if number >= 2**31 else number
            return await self._connection.fetchval(statement, _SPACE, signed)
