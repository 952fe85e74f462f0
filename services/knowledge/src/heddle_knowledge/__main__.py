"""`python -m heddle_knowledge`."""

from heddle_runtime.serving.server import serve

from heddle_knowledge.app import app
from heddle_knowledge.settings import KnowledgeSettings


def main() -> None:
    """Serve until stopped."""
    serve("knowledge", KnowledgeSettings, app)


if __name__ == "__main__":
    main()
