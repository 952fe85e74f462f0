"""`python -m heddle_migration_service`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from heddle_runtime import logs
from heddle_runtime.server import Binding, run
from heddle_runtime.settings import read

from heddle_migration_service.app import MigrationSettings, app, connect


@asynccontextmanager
async def connected(settings: MigrationSettings) -> AsyncGenerator[Sequence[Binding]]:
    """Yield the service with channels to the services that it calls."""
    async with connect(settings) as peers, app(settings, peers) as bindings:
        yield bindings


def main() -> None:
    """Serve until stopped."""
    logs.configure("migration")  # for what happens before the level is known
    settings = read(MigrationSettings)
    run(connected(settings), settings, "migration")


if __name__ == "__main__":
    main()
