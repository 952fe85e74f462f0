"""`python -m heddle_orchestrator`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from heddle_runtime import logs
from heddle_runtime.server import Binding, run
from heddle_runtime.settings import read

from heddle_orchestrator.app import OrchestratorSettings, app, connect


@asynccontextmanager
async def connected(settings: OrchestratorSettings) -> AsyncGenerator[Sequence[Binding]]:
    """Yield the service with clients of the other services."""
    async with connect(settings) as clients, app(settings, clients) as bindings:
        yield bindings


def main() -> None:
    """Serve until stopped."""
    logs.configure("orchestrator")  # for what happens before the level is known
    settings = read(OrchestratorSettings)
    run(connected(settings), settings, "orchestrator")


if __name__ == "__main__":
    main()
