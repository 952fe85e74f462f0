"""`make sizes`: installs the environment of each image as the Dockerfile does, and prints its size.

The size of an environment is what its files occupy on the disk, in MB of 10^6 bytes. The base image
is not part of it. Exits with 1 if a limit is exceeded.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from docs.project.images import build_arguments, install, read_compose

_MEGABYTE = 1_000_000
_DISK_BLOCK = 512  # of `st_blocks`


@dataclass(frozen=True, slots=True)
class Variant:
    """An image, and what an operator can add to it."""

    service: str
    extras: str
    limit: int | None = None  # MB
    arguments: dict[str, str] = field(default_factory=dict)


LIMITS = {
    ("tools-service", ""): 250,
    ("knowledge", ""): 700,
    ("knowledge", "pages graph"): 1000,
}
"""MB of an image with its extras."""


def variants() -> Iterator[Variant]:
    """Yield each image of the compose file, and those that have a limit."""
    services = read_compose()["services"]
    default = [
        (name, build_arguments(name)["EXTRA"]) for name in services if "build" in services[name]
    ]
    for service, extras in sorted({*default, *LIMITS}):
        arguments = build_arguments(service) | {"EXTRA": extras}
        yield Variant(service, extras, LIMITS.get((service, extras)), arguments)


def megabytes(folder: Path) -> float:
    """Return what the files of a folder occupy. Links count nothing."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_blocks for path in files) * _DISK_BLOCK / _MEGABYTE


def measured(variant: Variant) -> float:
    """Install the environment of an image in a temporary folder, and return its size."""
    with tempfile.TemporaryDirectory() as folder:
        return megabytes(install(variant.arguments, Path(folder) / "image"))


def main() -> int:
    """Print the sizes, and return the exit code."""
    exceeded = 0
    sys.stdout.write(f"{'image':20}{'extras':16}{'MB':>8}{'limit':>8}\n")
    for variant in variants():
        size = measured(variant)
        limit = "" if variant.limit is None else str(variant.limit)
        sys.stdout.write(f"{variant.service:20}{variant.extras:16}{size:8.0f}{limit:>8}\n")
        sys.stdout.flush()
        exceeded += variant.limit is not None and size > variant.limit
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
