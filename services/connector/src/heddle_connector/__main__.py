"""`python -m heddle_connector`."""

import sys

from heddle_runtime import logs
from heddle_runtime.server import run
from heddle_runtime.settings import describe, read
from pydantic_settings import BaseSettings

from heddle_connector.app import ConnectorSettings, app
from heddle_connector.routing.registry import installed


def main() -> None:
    """Serve until stopped."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        _help()
        return
    logs.configure("connector")  # for what happens before the level is known
    settings = read(ConnectorSettings)
    run(app(settings), settings, "connector")


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
