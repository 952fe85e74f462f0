"""The address of the database, as operators write it."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote

_SQLITE = re.compile(r"sqlite:///(?P<path>[^?#]+)")
# Stricter than other readers of such URLs: where a stray @, / or # would make a part of the
# password look like a host or a name, nothing of the URL may be shown.
_POSTGRESQL = re.compile(
    r"postgres(?:ql)?://(?:[^@/?#]*@)?(?P<hosts>[^@/?#]*)(?:/(?P<name>[^@/?#]*))?(?:\?(?P<query>[^@#]*))?"
)
_UNREADABLE = (
    "The database URL cannot be read. Write sqlite:///PATH or "
    "postgresql://USER:PASSWORD@HOST:PORT/NAME, special characters of the password as %XX."
)


@dataclass(frozen=True, slots=True)
class SqliteAddress:
    """The file of an SQLite database."""

    path: Path


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A database of a PostgreSQL server."""

    dsn: str
    """With the password: never shown."""
    name: str
    """The address without user and password."""


def parse(url: str) -> SqliteAddress | PostgresAddress:
    """Parse a URL. The `ValueError` for an invalid one does not repeat any of it."""
    if match := _SQLITE.fullmatch(url):
        path = unquote(match["path"])
        if ":memory:" in path:
            raise ValueError("The database must be a file: what is in memory, nobody else sees.")
        return SqliteAddress(Path(path))
    if match := _POSTGRESQL.fullmatch(url):
        options = parse_qs(match["query"] or "")
        hosts = match["hosts"] or ",".join(options.get("host", [])) or "the default host"
        return PostgresAddress(url, f"{match['name'] or 'the default database'} at {hosts}")
    raise ValueError(_UNREADABLE)
