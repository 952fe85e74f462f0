"""A database in memory that holds what may be asked about, and can only be asked.

Whatever a query does, there is nothing else in here: no other tenant's rows, no file, no way to
write. `guard` is the other layer; each must hold without the other.
"""

import time
from collections.abc import Sequence

import apsw
from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_knowledge.document_queries.query_inputs import Fact, Value, cell_of
from heddle_knowledge.document_queries.schema import FIXED, number_of
from heddle_knowledge.errors import RefusedQueryError

_STEPS = 100
"""Instructions of SQLite between two looks at the clock."""
_LONGEST_VALUE = 1_000
_MOST_CHARACTERS = 100_000
_LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: 300_000,
    apsw.SQLITE_LIMIT_SQL_LENGTH: 20_000,
    apsw.SQLITE_LIMIT_COLUMN: 100,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 60,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    apsw.SQLITE_LIMIT_VDBE_OP: 20_000,
    apsw.SQLITE_LIMIT_FUNCTION_ARG: 16,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    # Longer ones take seconds for a single text, in which nobody looks at the clock.
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 60,
    apsw.SQLITE_LIMIT_VARIABLE_NUMBER: 0,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_FUNCTIONS = frozenset({
    "abs", "avg", "coalesce", "count", "current_date", "current_time", "current_timestamp", "date",
    "datetime", "dense_rank", "glob", "group_concat", "ifnull", "iif", "instr", "julianday",
    "length", "like", "lower", "ltrim", "max", "min", "nullif", "rank", "round", "row_number",
    "rtrim", "strftime", "substr", "substring", "sum", "time", "total", "trim", "typeof",
    "unixepoch", "upper",
})  # fmt: skip


def opened(facts: Sequence[Fact], tables: Sequence[pb.Table]) -> apsw.Connection:
    """Return a locked database with the rows of `facts`.

    Args:
        facts: The documents.
        tables: What `schema.tables_of` makes of them.
    """
    connection = apsw.Connection(":memory:")
    connection.execute("PRAGMA temp_store = MEMORY")
    for table in tables:
        columns = ", ".join(f'"{column.name}" {column.type}' for column in table.columns)
        connection.execute(f"CREATE TABLE {table.name} ({columns})")
    documents, metadata = tables
    more = documents.columns[len(FIXED) :]
    places = ", ".join("?" * len(documents.columns))
    with connection:
        connection.executemany(
            f"INSERT INTO documents VALUES ({places})",  # noqa: S608 - question marks alone
            (
                [getattr(fact, name) for name in FIXED]
                + [_stored(fact.metadata.get(column.name), column.type) for column in more]
                for fact in facts
            ),
        )
        connection.executemany(
            f"INSERT INTO {metadata.name} VALUES (?, ?, ?)",  # noqa: S608 - our own name
            ((fact.document_id, *pair) for fact in facts for pair in fact.metadata.items()),
        )
    _lock(connection, {table.name for table in tables})
    return connection


def select(
    connection: apsw.Connection, sql: str, most: int, seconds: float
) -> pb.QueryDocumentsResponse:
    """Run a query, and return its rows without the errors of collections.

    Args:
        connection: A database of `opened`.
        sql: The query.
        most: Rows at most.
        seconds: The time limit of the query.

    Raises:
        RefusedQueryError: It is wrong, not allowed, or takes too long or too much.
    """
    until = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    response = pb.QueryDocumentsResponse()

    def begun(cursor: apsw.Cursor, *_: object) -> bool:
        # Known now, and no more once a query without rows has ended.
        response.columns.extend(name for name, *_ in cursor.get_description())
        return True

    cursor = connection.cursor()
    cursor.exec_trace = begun
    try:
        response.sql = sql
        _fill(response, cursor.execute(sql), most)
    except apsw.InterruptError as error:
        raise RefusedQueryError(
            f"The query took more than {seconds:g} s and was stopped. Ask for less."
        ) from error
    except (apsw.NoMemError, apsw.TooBigError, MemoryError) as error:
        raise RefusedQueryError("The query makes too much. Ask for less.") from error
    except apsw.AuthError as error:
        raise RefusedQueryError("The query is not allowed: it can only select.") from error
    except (apsw.Error, ValueError) as error:  # a zero byte, a half of a letter
        raise RefusedQueryError(f"SQLite refuses the query: {error}.") from error
    finally:
        connection.set_progress_handler(None)
    return response


def _fill(response: pb.QueryDocumentsResponse, cursor: apsw.Cursor, most: int) -> None:
    characters = 0
    for row in cursor:
        if len(response.rows) == most or characters > _MOST_CHARACTERS:
            response.truncated = True
            break
        shown = tuple(map(_shown, row))
        if any(isinstance(value, str) and len(value) > _LONGEST_VALUE for value in row):
            response.truncated = True
        characters += sum(len(str(value)) for value in shown)
        response.rows.add(cells=map(cell_of, shown))


def _lock(connection: apsw.Connection, tables: set[str]) -> None:
    def allowed(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if (
            action == apsw.SQLITE_SELECT
            or (action == apsw.SQLITE_READ and first in tables)
            or (action == apsw.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS)
        ):
            return apsw.SQLITE_OK
        return apsw.SQLITE_DENY

    connection.execute("PRAGMA query_only = ON")
    for setting, value in (
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0),
        (apsw.SQLITE_DBCONFIG_DQS_DML, 0),  # "x" is a column and never a text
        (apsw.SQLITE_DBCONFIG_DQS_DDL, 0),
    ):
        connection.config(setting, value)
    for limit, most in _LIMITS.items():
        connection.limit(limit, most)
    connection.authorizer = allowed


def _stored(value: str | None, kind: str) -> Value:
    return value if value is None or kind == "TEXT" else number_of(value)


def _shown(value: object) -> Value:
    if isinstance(value, str):
        return value[:_LONGEST_VALUE]
    return value if isinstance(value, int | float | None) else str(value)
