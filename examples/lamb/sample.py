"""Makes the database of a small LAMB: `python examples/lamb/sample.py lamb_v4.db`."""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

SHOWN = {"user": "Creator_users", "assistant": "assistants", "rubric": "rubrics"}


def main(path: Path) -> None:
    """Write the database, and print what is in it. An existing file stays as it is."""
    if path.exists():
        sys.exit(f"{path} exists.")
    with closing(sqlite3.connect(path)) as database:
        database.executescript(Path(__file__).with_suffix(".sql").read_text())
        counts = {
            name: database.execute(f"SELECT count(*) FROM LAMB_{table}").fetchone()[0]  # noqa: S608 - our own names
            for name, table in SHOWN.items()
        }
    parts = [f"{count} {name}{'s' * (count != 1)}" for name, count in counts.items()]
    print(f"{path}: {', '.join(parts)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
