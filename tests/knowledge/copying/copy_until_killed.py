"""Copies a store, and kills itself so many seconds after an event.

Usage: python copy_until_killed.py FROM TO EVENT SECONDS
"""

import asyncio
import os
import signal
import sys
import threading
import time

from heddle_knowledge.copying.copying import copy_store
from heddle_knowledge.copying.side import Place


def _kill(seconds: float) -> None:
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)


async def main(source: str, target: str, event: int, seconds: float) -> None:
    """Copy, and be killed on the way, unless the copy ends before that."""
    number = 0
    async for _ in copy_store(Place(source), Place(target)):
        if number == event:
            threading.Thread(target=_kill, args=(seconds,), daemon=True).start()
            if not seconds:
                await asyncio.sleep(60)
        number += 1


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
