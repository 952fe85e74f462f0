"""`python loading.py < NAMES`: prints which of these modules do not load here, as JSON.

Runs in the environment of an image, so it imports the standard library alone.
"""

import contextlib
import importlib
import io
import json
import sys


def fails(name: str) -> bool:
    """Import a module, and return whether that fails."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            importlib.import_module(name)
    except Exception:  # noqa: BLE001 - also what the module itself raises
        return True
    return False


if __name__ == "__main__":
    failed = [name for name in sys.stdin.read().split() if fails(name)]
    sys.stdout.write(json.dumps(failed))
