"""The command `heddle` for commands of pages.

Its first argument is the folder of the tests.
"""

import os
import sys


def main() -> int:
    """Run the command, and return its exit code."""
    sys.path.insert(0, sys.argv[1])
    import preloaded  # noqa: PLC0415 - it is in the folder of the tests

    arguments = sys.argv[2:]
    process = preloaded.start("heddle_cli", os.environ, 1, arguments=arguments, source=0, errors=2)
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
