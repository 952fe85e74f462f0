"""Threads for tools that block."""

import asyncio
import threading

import pytest
from heddle_tools_service.threads import Threads


async def test_a_thread_that_could_not_be_started_gives_its_place_back() -> None:
    threads = Threads(1)
    before = threading.stack_size(2**46)  # no machine has room for it
    try:
        with pytest.raises(RuntimeError, match="can't start new thread"):
            await threads.run("blocking", int)
    finally:
        threading.stack_size(before)

    async with asyncio.timeout(10):
        assert await threads.run("blocking", lambda: "done") == "done"
