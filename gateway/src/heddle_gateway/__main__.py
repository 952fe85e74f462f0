"""`python -m heddle_gateway`."""

from heddle_runtime.serving.server import start, stopped
from heddle_runtime.settings.service import help_on_request, read
from heddle_runtime.telemetry import logs
from heddle_runtime.telemetry.export import exporting
from heddle_runtime.telemetry.metrics.endpoint import serving_metrics

from heddle_gateway.app import GatewaySettings, app, connect
from heddle_gateway.extensions import installed
from heddle_gateway.http.server import serving


def main() -> None:
    """Serve until stopped."""
    logs.configure("gateway")  # for what happens before the level is known
    help_on_request(GatewaySettings, *(each.settings_class for each in installed()))
    settings = read(GatewaySettings)
    logs.configure("gateway", settings.log_level)
    start(_serve(settings))


async def _serve(settings: GatewaySettings) -> None:
    with serving_metrics(settings, "gateway"), exporting("gateway", settings):
        async with connect(settings) as services, serving(app(settings, services), settings):
            await stopped(settings)


if __name__ == "__main__":
    main()
