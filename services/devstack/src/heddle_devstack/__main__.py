"""`python -m heddle_devstack`, or `make up`."""

import uvloop
from heddle_gateway.serving import serving
from heddle_runtime import logs
from heddle_runtime.server import stopped
from heddle_runtime.settings import read

from heddle_devstack import StackSettings, stack
from heddle_devstack.settings import DevstackSettings


async def serve(settings: StackSettings) -> None:
    """Serve everything until stopped."""
    async with stack(settings) as running, serving(running.gateway, settings.gateway):
        await stopped()


def main() -> None:
    """Serve with settings from the environment."""
    devstack = read(DevstackSettings)
    logs.configure("devstack", devstack.log_level)
    uvloop.run(serve(StackSettings(devstack=devstack)))


if __name__ == "__main__":
    main()
