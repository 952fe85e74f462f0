"""`python -m benchmarks.gateway.idle`: the memory of all services that are started and idle.

Prints the proportional set size of each process in MiB and their sum, and exits with 1 if the sum
exceeds the limit.
"""

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.gateway.accounting import memory
from benchmarks.gateway.systems import SEPARATE, running

MAX_MEBIBYTES = 450
_SECONDS = 20.0
_WRITE = sys.stdout.write


def main() -> int:
    """Start all services as separate processes, wait, and print their memory."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running([SEPARATE], Path(folder)) as [system],
    ):
        time.sleep(_SECONDS)
        sizes = {each.command.module: memory([each.popen.pid]) for each in system.processes}
    for module, size in sizes.items():
        _WRITE(f"{module:<26}{size:7.1f}\n")
    total = sum(sizes.values())
    _WRITE(f"{'total':<26}{total:7.1f} of {MAX_MEBIBYTES} MiB\n")
    return int(total > MAX_MEBIBYTES)


if __name__ == "__main__":
    sys.exit(main())
