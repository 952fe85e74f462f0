"""A PostgreSQL whose writes reach the disk. Prints a URL; ends with its input.

A process of its own, since the tests' folder has to be on its path.
"""

import sys

from assistants.postgres import postgres


def main() -> None:
    """Serve."""
    with postgres(durable=True) as server, server.database() as url:
        print(url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
