"""The migration service as a process of its own, as many of them as one likes."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
from assistants.serving import SECRET, Service
from heddle_runtime.client import channel
from runtime.ports import free_port

_PATIENCE = 60.0


@dataclass
class Replica(Service):
    """A running process."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def kill(self) -> None:
        """End it at once, whatever it does."""
        self.process.kill()
        self.process.wait()

    def migrated(self) -> Iterator[int]:
        """Yield the ids of the assistants whose migration it logged."""
        for line in self.log.read_text().splitlines():
            if (
                line.startswith("{")
                and (told := json.loads(line)).get("logger") == "lamb.migration"
            ):
                yield told["assistant_id"]


@asynccontextmanager
async def replica(database_url: str, log: Path) -> AsyncIterator[Replica]:
    """Run the service until the block is left."""
    port = free_port()
    settings = {
        "HEDDLE_IDENTITY_SECRET": SECRET,
        "HEDDLE_MIGRATION_LISTEN": f"127.0.0.1:{port}",
        "HEDDLE_MIGRATION_DATABASE": database_url,
        "HEDDLE_MIGRATION_ASSISTANTS_DIR": "/nonexistent",
        "HEDDLE_MIGRATION_KEY_PEPPER": SECRET,
        "HEDDLE_MIGRATION_ENCRYPTION_KEY": SECRET,
        "HEDDLE_MIGRATION_DRAIN_WAIT": "0",
    }
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: ASYNC220 - our own module, and nobody waits for it
            [sys.executable, "-m", "heddle_migration_service"],
            env={**os.environ, **settings},
            stdout=output,
            stderr=output,
        )
    try:
        async with channel(f"127.0.0.1:{port}") as connection:
            await _wait_until_ready(connection, process, log)
            yield Replica(connection, f"127.0.0.1:{port}", process, log)
    finally:
        process.kill()
        process.wait()


async def _wait_until_ready(
    connection: grpc.aio.Channel, process: "subprocess.Popen[bytes]", log: Path
) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            async with asyncio.timeout(0.2):
                await connection.channel_ready()
        except TimeoutError:
            assert process.poll() is None, _end_of(log)
            assert time.monotonic() < until, _end_of(log)
        else:
            return


def _end_of(log: Path) -> str:
    return log.read_text()[-3000:]
