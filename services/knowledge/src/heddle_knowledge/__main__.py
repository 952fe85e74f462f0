"""`python -m heddle_knowledge`."""

from heddle_runtime import logs
from heddle_runtime.server import run
from heddle_runtime.settings import read

from heddle_knowledge.app import app
from heddle_knowledge.settings import KnowledgeSettings


def main() -> None:
    """Serve until stopped."""
    logs.configure("knowledge")  # for what happens before the level is known
    settings = read(KnowledgeSettings)
    run(app(settings), settings, "knowledge")


if __name__ == "__main__":
    main()
