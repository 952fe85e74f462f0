"""`python -m heddle_devstack`, or `make up`."""

from heddle_gateway.http.server import serving
from heddle_runtime.serving.server import start, stopped
from heddle_runtime.telemetry import logs
from heddle_runtime.telemetry.export import exporting
from heddle_runtime.telemetry.metrics.endpoint import serving_metrics

from heddle_devstack import StackSettings, stack
from heddle_devstack.examples import prepare


async def serve(settings: StackSettings) -> None:
    """Serve everything until stopped."""
    own = settings.devstack
    with serving_metrics(own, "devstack"), exporting("devstack", own):
        async with stack(settings) as running:
            if settings.devstack.examples:
                await prepare(settings.tools, running.knowledge)
            async with serving(running.gateway, settings.gateway):
                await stopped(settings.gateway)


def main() -> None:
    """Serve with settings from the environment."""
    logs.configure("devstack")  # for what happens before the level is known
    settings = StackSettings.read()
    logs.configure("devstack", settings.devstack.log_level)
    start(serve(settings))


if __name__ == "__main__":
    main()
