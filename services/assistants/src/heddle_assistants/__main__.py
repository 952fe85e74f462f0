"""`python -m heddle_assistants`."""

from heddle_runtime.server import run
from heddle_runtime.settings import read

from heddle_assistants.app import AssistantsSettings, app


def main() -> None:
    """Serve until stopped."""
    settings = read(AssistantsSettings)
    run(app(settings), settings, "assistants")


if __name__ == "__main__":
    main()
