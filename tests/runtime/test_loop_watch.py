"""`heddle_runtime.serving.loop_watch`."""

import asyncio
import time

from heddle_runtime.serving.loop_watch import watched_loop
from structlog.testing import capture_logs


def block(seconds: float) -> None:
    time.sleep(seconds)


async def test_code_that_blocks_the_loop_is_named_once() -> None:
    with capture_logs() as logs:
        async with watched_loop(0.2):
            await asyncio.sleep(0.5)
            block(1)
            await asyncio.sleep(0.1)
    (line,) = logs
    assert (line["event"], line["log_level"]) == ("event loop blocked", "warning")
    assert line["running"][-1].endswith(" block")
    assert __file__ in line["running"][-1]
