"""`python -m heddle_connector`."""

import sys

from heddle_runtime.serving.server import serve
from heddle_runtime.settings.service import describe
from heddle_runtime.telemetry import logs
from pydantic_settings import BaseSettings

from heddle_connector.app import ConnectorSettings, app
from heddle_connector.routing.registry import installed


def main() -> None:
    """Serve until stopped."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        _help()
        return
    serve("connector", ConnectorSettings, app)


def _help() -> None:
    """Print the settings of the service and of every connector."""
    logs.configure("connector", "WARNING")  # log lines would mix with the help text
    plugins = installed(ConnectorSettings().plugins_dir)
    kinds: list[type[BaseSettings]] = [
        ConnectorSettings,
        *(plugin.settings for plugin in plugins.loaded.values()),
    ]
    sys.stdout.write("\n".join(describe(kind) for kind in kinds if kind.model_fields))


if __name__ == "__main__":
    main()
