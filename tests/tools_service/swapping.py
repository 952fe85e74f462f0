"""Swaps a folder for a link, again and again, in a process of its own."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

# Exchanges a folder and a link as fast as possible.
SWAPPER = """
import ctypes, sys
at_cwd, exchange = -100, 2
call = ctypes.CDLL(None).renameat2
one, other = f"{sys.argv[1]}/swapped".encode(), f"{sys.argv[1]}/other".encode()
while True:
    call(at_cwd, one, at_cwd, other, exchange)
"""


@asynccontextmanager
async def swapping(folder: Path) -> AsyncGenerator[None]:
    """Exchange `folder/swapped` and `folder/other` until the end of the block. Linux only."""
    swapper = await asyncio.create_subprocess_exec(sys.executable, "-c", SWAPPER, str(folder))
    try:
        yield
    finally:
        swapper.kill()
        await swapper.wait()
