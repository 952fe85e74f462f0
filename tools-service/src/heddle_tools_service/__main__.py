"""`python -m heddle_tools_service`."""

from heddle_runtime.serving.server import serve

from heddle_tools_service.app import ToolsSettings, app


def main() -> None:
    """Serve until stopped."""
    serve("tools", ToolsSettings, app)


if __name__ == "__main__":
    main()
