"""`python -m heddle_migration_service`."""

from heddle_runtime.serving.server import serve

from heddle_migration_service.app import MigrationSettings, app, connect


def main() -> None:
    """Serve until stopped."""
    serve("migration", MigrationSettings, app, connect)


if __name__ == "__main__":
    main()
