"""`python -m heddle_assistants`."""

from heddle_runtime.serving.server import serve

from heddle_assistants.app import AssistantsSettings, app, connect


def main() -> None:
    """Serve until stopped."""
    serve("assistants", AssistantsSettings, app, connect)


if __name__ == "__main__":
    main()
