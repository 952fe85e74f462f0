"""`python -m heddle_orchestrator`."""

from heddle_runtime.serving.server import serve

from heddle_orchestrator.app import OrchestratorSettings, app, connect


def main() -> None:
    """Serve until stopped."""
    serve("orchestrator", OrchestratorSettings, app, connect)


if __name__ == "__main__":
    main()
