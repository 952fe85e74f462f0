"""`python -m heddle_tools_service`."""

from heddle_runtime import logs
from heddle_runtime.server import run
from heddle_runtime.settings import read

from heddle_tools_service.app import ToolsSettings, app


def main() -> None:
    """Serve until stopped."""
    logs.configure("tools")  # for what happens before the level is known
    settings = read(ToolsSettings)
    run(app(settings), settings, "tools")


if __name__ == "__main__":
    main()
