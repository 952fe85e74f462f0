"""`python -m heddle_assistants`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from heddle_runtime import logs
from heddle_runtime.server import Binding, run
from heddle_runtime.settings import read

from heddle_assistants.app import AssistantsSettings, app, connect


@asynccontextmanager
async def connected(settings: AssistantsSettings) -> AsyncGenerator[Sequence[Binding]]:
    """Yield the service with a client of the orchestrator."""
    async with connect(settings) as orchestrator, app(settings, orchestrator) as bindings:
        yield bindings


def main() -> None:
    """Serve until stopped."""
    logs.configure("assistants")  # for what happens before the level is known
    settings = read(AssistantsSettings)
    run(connected(settings), settings, "assistants")


if __name__ == "__main__":
    main()
