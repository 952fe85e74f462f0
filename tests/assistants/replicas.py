"""The assistants service and the migration service as processes, as many of them as one likes."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import preloaded
from assistants.serving import SECRET, Service
from heddle_runtime.rpc.client import channel
from pydantic import SecretStr
from runtime.ports import free_port

_TIMEOUT_SECONDS = 60.0
Process = preloaded.Started


@dataclass
class Replica(Service):
    """A pair of running processes."""

    assistants_process: Process
    migration_process: Process
    log: Path

    def kill(self, process: Process) -> None:
        """End one of them at once, whatever it does."""
        process.kill()
        process.wait()

    def migrated(self) -> Iterator[int]:
        """Yield the ids of the assistants whose migration was logged."""
        for line in self.log.read_text().splitlines():
            if (
                line.startswith("{")
                and (entry := json.loads(line)).get("logger") == "lamb.migration"
            ):
                yield entry["assistant_id"]


@asynccontextmanager
async def replica(
    database_url: str, log: Path, tracer: Sequence[str] = (), **settings: str
) -> AsyncIterator[Replica]:
    """Run both services until the block is left, the migration service under a tracer."""
    assistants, migration = (f"127.0.0.1:{free_port()}" for _ in range(2))
    environment = {
        **os.environ,
        "HEDDLE_IDENTITY_SECRET": SECRET,
        "HEDDLE_ASSISTANTS_LISTEN": assistants,
        "HEDDLE_ASSISTANTS_ADDRESS": assistants,
        "HEDDLE_ASSISTANTS_DATABASE": database_url,
        "HEDDLE_ASSISTANTS_DIR": "/nonexistent",
        "HEDDLE_ASSISTANTS_KEY_PEPPER": SECRET,
        "HEDDLE_ASSISTANTS_ENCRYPTION_KEY": SECRET,
        "HEDDLE_ASSISTANTS_DRAIN_WAIT": "0",
        "HEDDLE_MIGRATION_LISTEN": migration,
        "HEDDLE_MIGRATION_DRAIN_WAIT": "0",
        **settings,
    }
    async with AsyncExitStack() as stack:

        async def start(
            module: str, address: str, tracer: Sequence[str] = ()
        ) -> tuple[Process, grpc.aio.Channel]:
            process = stack.enter_context(_process(module, environment, log, tracer))
            opened = channel(address, secret=SecretStr(SECRET))
            connection = await stack.enter_async_context(opened)
            await _wait_until_ready(connection, process, log)
            return process, connection

        # The second calls the first. If it started earlier, it would fail calls for a second.
        first, to_assistants = await start("heddle_assistants", assistants)
        second, to_migration = await start("heddle_migration_service", migration, tracer)
        yield Replica(to_assistants, to_migration, assistants, first, second, log)


@contextmanager
def _process(
    module: str, environment: dict[str, str], log: Path, tracer: Sequence[str]
) -> Iterator[Process]:
    with log.open("ab") as output:
        process: Process = (
            subprocess.Popen(  # noqa: S603 - our own modules
                [*tracer, sys.executable, "-m", module],
                env=environment,
                stdout=output,
                stderr=output,
            )
            if tracer
            else preloaded.start(module, environment, output.fileno())
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def _wait_until_ready(connection: grpc.aio.Channel, process: Process, log: Path) -> None:
    until = time.monotonic() + _TIMEOUT_SECONDS
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
