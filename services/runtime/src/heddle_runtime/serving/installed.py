"""Loads what installed packages add to Heddle, which they name in entry points."""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any

import structlog

from heddle_runtime.redaction import redact

log = structlog.get_logger(__name__)
Report = Callable[[str, str], None]
"""Receives the origin of what does not load, and why."""


def points(group: str) -> Iterator[tuple[str, EntryPoint]]:
    """Yield the entry points of a group, each after its origin: `package:` and the distribution."""
    for point in _points(group, tuple(sys.path)):
        yield f"package:{point.dist.name if point.dist else point.value}", point


@cache  # reading takes 20 ms, and a process that runs several services asks several times
def _points(group: str, _path: tuple[str, ...]) -> EntryPoints:
    return entry_points(group=group)


def log_skipped(origin: str, problem: str) -> None:
    """Log that something does not load."""
    log.error("package skipped: update or remove it", origin=origin, problem=problem)


def installed(group: str, report: Report = log_skipped) -> Iterator[tuple[str, Any]]:
    """Yield the name and the object of each entry point of a group.

    The work goes on without what does not load; `report` is called for it.
    """
    for origin, point in points(group):
        try:
            loaded = point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - of foreign code, which may do anything
            report(f"{origin}, {point.name}", redact(f"{type(error).__name__}: {error}"))
        else:
            yield point.name, loaded
