"""`python -m benchmarks.idle.sizing`: what a chat and a document cost each service.

Prints the CPU time of each service in milliseconds for a chat, for a chat that searches a
collection, and for a document; and what a document occupies on the disk. One document is a page of
1,000 to 2,000 characters. CPU times hold on a busy machine too; the provider is a fake one.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from benchmarks.gateway.accounting import cpu_seconds
from benchmarks.idle.load import ASSISTANTS, GROUNDED, PLAIN, apply
from benchmarks.idle.services import Installation, installation, settings_of

_KIBIBYTE = 1024
_MILLISECONDS = 1000
Costs = dict[str, dict[str, float]]


def measure(chats: int, documents: int) -> tuple[Costs, dict[str, float]]:
    """Return milliseconds by work and service, and KiB for a document by folder."""
    with (
        tempfile.TemporaryDirectory(prefix="heddle-sizing-") as folder,
        settings_of(Path(folder), ASSISTANTS) as settings,
        installation(settings, Path(folder) / "logs") as installed,
    ):
        # Loads what work needs.
        asyncio.run(apply(installed.address, chats=len(ASSISTANTS), documents=1))
        data = Path(folder) / "heddle" / "data"
        before = sizes(data)
        costs = {"document": _cost(installed, 0, documents, ())}
        disk = {name: (size - before[name]) / documents for name, size in sizes(data).items()}
        costs |= {name: _cost(installed, chats, 0, (name,)) for name in (PLAIN, GROUNDED)}
    return costs, disk


def sizes(data: Path) -> dict[str, float]:
    """Return what the knowledge service occupies, in KiB."""
    knowledge = data / "knowledge"
    return {
        "collections": _size(knowledge, "*.lance/**/*"),
        "uploaded files": _size(knowledge, "uploads/**/*"),
    }


def _size(folder: Path, pattern: str) -> float:
    files = (path for path in folder.glob(pattern) if path.is_file())
    return sum(path.stat().st_size for path in files) / _KIBIBYTE


def _cost(
    installed: Installation, chats: int, documents: int, assistants: tuple[str, ...]
) -> dict[str, float]:
    """Return the milliseconds of each service for one chat or document."""
    before = _used(installed)
    asyncio.run(apply(installed.address, chats, documents, assistants or (PLAIN,)))
    count = chats or documents
    return {
        name: (seconds - before[name]) / count * _MILLISECONDS
        for name, seconds in _used(installed).items()
    }


def _used(installed: Installation) -> dict[str, float]:
    return {each.name: cpu_seconds([each.process.popen.pid]) for each in installed.services}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser("python -m benchmarks.idle.sizing", description=__doc__)
    parser.add_argument("--chats", type=int, default=1_000, help="of each kind [1000]")
    parser.add_argument("--documents", type=int, default=200, help="[200]")
    chosen = parser.parse_args()
    costs, disk = measure(chosen.chats, chosen.documents)
    lines = [f"{'ms of CPU':<20}" + "".join(f"{work:>12}" for work in costs)]
    lines += [
        f"{name:<20}" + "".join(f"{each[name]:>12.2f}" for each in costs.values())
        for name in costs["document"]
    ]
    lines += [f"{f'KiB, {name}':<20}{size:>12.1f}" for name, size in disk.items()]
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
