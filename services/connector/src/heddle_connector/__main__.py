"""`python -m heddle_connector`."""

import sys

from heddle_runtime import logs
from heddle_runtime.server import run
from heddle_runtime.settings import describe, read

from heddle_connector.app import ConnectorSettings, app
from heddle_connector.routing.registry import installed


def main() -> None:
    """Serve until stopped."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        _help()
        return
    settings = read(ConnectorSettings)
    run(app(settings), settings, "connector")


def _help() -> None:
    """Print the settings of the service and of every connector."""
    logs.configure("connector", "WARNING")  # what was found is no part of the answer
    plugins = installed(ConnectorSettings().plugins_dir)
    own = [plugin.settings for plugin in plugins.found.values() if plugin.settings.model_fields]
    sys.stdout.write("\n".join([describe(ConnectorSettings), *map(describe, own)]))


if __name__ == "__main__":
    main()
