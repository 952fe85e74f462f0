"""`python -m heddle_gateway`."""

import sys

import uvloop
from heddle_runtime import logs
from heddle_runtime.server import stopped
from heddle_runtime.settings import read

from heddle_gateway.app import GatewaySettings, app, connect
from heddle_gateway.server import serving


def main() -> None:
    """Serve until stopped."""
    settings = read(GatewaySettings)
    logs.configure("gateway", settings.log_level)
    try:
        uvloop.run(_serve(settings))
    except (OSError, ValueError) as error:  # an address in use, a wrong file of keys
        sys.stderr.write(f"{error}\n")
        raise SystemExit(2) from None


async def _serve(settings: GatewaySettings) -> None:
    async with connect(settings) as peers, serving(app(settings, peers), settings):
        await stopped()


if __name__ == "__main__":
    main()
