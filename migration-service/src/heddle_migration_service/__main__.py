"""`python -m heddle_migration_service`."""

from heddle_runtime.server import run
from heddle_runtime.settings import read

from heddle_migration_service.app import MigrationSettings, app


def main() -> None:
    """Serve until stopped."""
    settings = read(MigrationSettings)
    run(app(settings), settings, "migration")


if __name__ == "__main__":
    main()
