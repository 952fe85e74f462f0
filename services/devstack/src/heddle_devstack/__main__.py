"""`python -m heddle_devstack`, or `make up`."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.metadata import version

from heddle_gateway.app import Gateway
from heddle_gateway.http.server import serving
from heddle_runtime.identity.setup_link import setup_link
from heddle_runtime.serving.background import in_background, repeating
from heddle_runtime.serving.server import start, stopped
from heddle_runtime.settings.service import read
from heddle_runtime.telemetry import log_file, logs
from heddle_runtime.telemetry.export import exporting
from heddle_runtime.telemetry.metrics.endpoint import serving_metrics

from heddle_devstack import Stack, StackSettings, stack
from heddle_devstack.announcement import announcement, default_model, operator_missing
from heddle_devstack.examples import prepare
from heddle_devstack.settings import DevstackSettings


async def serve(settings: StackSettings) -> None:
    """Serve everything until stopped."""
    own = settings.devstack
    address = ""

    @asynccontextmanager
    async def http(gateway: Gateway) -> AsyncGenerator[None]:
        nonlocal address
        async with serving(gateway, settings.gateway) as address:
            yield

    with serving_metrics(own, "devstack"), exporting("devstack", own):
        async with stack(settings, serving=http) as running, AsyncExitStack() as exits:
            if own.log == "file":
                rotate = partial(asyncio.to_thread, log_file.rotate, own.log_file)
                work = repeating(rotate, log_file.CHECK_SECONDS, "the log file cannot be renamed")
                await exits.enter_async_context(work)
            if own.log == "file" or sys.stdout.isatty():
                await announce(settings, running, address)
            if own.examples:
                work = in_background(prepare(settings.tools, running.knowledge))
                await exits.enter_async_context(work)
            await stopped(settings.gateway)


async def announce(settings: StackSettings, running: Stack, address: str) -> None:
    """Print where Heddle is, who may use it, and what it lacks."""
    own = settings.devstack
    names = ("orchestrator", "tools", "connector", "assistants", "knowledge")
    text = announcement(
        version("heddle-runtime"),
        settings.gateway,
        address,
        {**{name: getattr(running, name) for name in names}, **running.optional},
        await default_model(running.to_connector),
        setup_link=(
            setup_link(f"http://{address}/studio", settings.gateway.identity_secret)
            if await operator_missing(settings.gateway, running.to_assistants)
            else ""
        ),
        prepares_examples=own.examples,
        log_file=own.log_file.absolute() if own.log == "file" else None,
    )
    sys.stdout.write(text)
    sys.stdout.flush()


def main() -> None:
    """Serve with settings from the environment."""
    logs.configure("devstack")  # for what happens before the level is known
    own = read(DevstackSettings, arguments=[])
    if own.log == "file":
        logs.tell(log_file.use(own.log_file))
    settings = StackSettings.read()
    logs.configure("devstack", settings.devstack.log_level)
    start(serve(settings))


if __name__ == "__main__":
    main()
