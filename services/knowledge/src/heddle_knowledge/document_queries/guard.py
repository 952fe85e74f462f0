"""Lets a query through if every part of it is known to be harmless.

The database runs SQL that is generated from the parsed query, not the original text: a parser and a
database that read a text differently would be a security hole.
"""

from collections.abc import Iterator, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from heddle_knowledge.errors import RefusedQueryError

_LONGEST = 4_000
_MOST_NODES = 400
_MOST_TABLES = 6
_NODES = frozenset({
    # the shape of a query
    exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Subquery, exp.With, exp.CTE, exp.From,
    exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset,
    exp.Distinct, exp.Table, exp.TableAlias, exp.Alias, exp.Column, exp.Identifier, exp.Star,
    exp.Window, exp.WindowSpec, exp.Tuple, exp.Paren,
    # values and conditions
    exp.Literal, exp.Null, exp.Boolean, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE,
    exp.LT, exp.LTE, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In, exp.Between, exp.Like,
    exp.ILike, exp.Escape, exp.Glob, exp.Exists, exp.Case, exp.If, exp.Cast, exp.DataType, exp.Add,
    exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.DPipe,
    # functions
    exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.GroupConcat, exp.Lower, exp.Upper,
    exp.Length, exp.Trim, exp.Substring, exp.StrPosition, exp.Round, exp.Abs, exp.Coalesce,
    exp.Nullif, exp.Date, exp.TimeToStr, exp.TsOrDsToTimestamp, exp.TsOrDsToDate, exp.Concat,
    exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.RowNumber, exp.Rank, exp.DenseRank,
})  # fmt: skip
_FUNCTIONS = frozenset({
    "date", "time", "datetime", "julianday", "unixepoch", "total", "typeof", "instr", "iif",
    "ifnull", "ltrim", "rtrim",
})  # fmt: skip
"""Those that the reader has no class for."""
_TYPES = frozenset({"TEXT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR"})


def guarded(sql: str, tables: Mapping[str, frozenset[str]], most: int) -> str:
    """Return the query to run in place of `sql`: the same, with at most `most` rows.

    Args:
        sql: One query in SQLite's dialect; a semicolon and comments behind it are dropped.
        tables: The columns of each table, in small letters.
        most: Rows at most.

    Raises:
        RefusedQueryError: It is not one query, or something in it is not allowed.
    """
    if len(sql) > _LONGEST:
        raise RefusedQueryError(f"A query may have {_LONGEST:,} characters. Write a shorter one.")
    if "\0" in sql:
        raise RefusedQueryError("The query holds a zero byte. Leave it out.")
    try:
        query = _read(sql)
        _check(query, tables)
        return _limited(query, most).sql(dialect="sqlite", comments=False)
    except SqlglotError as error:
        raise RefusedQueryError(f"This is not SQL that SQLite reads: {_first(error)}.") from error
    except RecursionError as error:
        raise RefusedQueryError("The query nests too deep. Write a simpler one.") from error


def _first(error: SqlglotError) -> str:
    """Return the parser's message without the piece of the query, which it marks for terminals."""
    return str(error).partition("\n")[0].rstrip(".")


def _read(sql: str) -> exp.Query:
    statements = [
        statement
        for statement in sqlglot.parse(sql, read="sqlite")
        if statement is not None and not isinstance(statement, exp.Semicolon)
    ]
    if len(statements) != 1:
        raise RefusedQueryError("Write exactly one SELECT statement.")
    (statement,) = statements
    if not isinstance(statement, exp.Select | exp.SetOperation):
        raise RefusedQueryError("Only SELECT is allowed: nothing can be changed here.")
    return statement


def _check(query: exp.Query, tables: Mapping[str, frozenset[str]]) -> None:
    nodes = _counted(query)
    known = {cte.alias_or_name.lower() for cte in query.find_all(exp.CTE)}
    shadowed = known & tables.keys()
    if shadowed:
        raise RefusedQueryError(f"{min(shadowed)!r} is a table. Call the other one differently.")
    used = [node for node in nodes if isinstance(node, exp.Table)]
    if len(used) > _MOST_TABLES:
        raise RefusedQueryError(f"A query may name {_MOST_TABLES} tables. Join fewer of them.")
    for table in used:
        _check_table(table, known | tables.keys())
    names = frozenset(_aliases(nodes)).union(*tables.values())
    sources = (
        known
        | tables.keys()
        | {node.alias.lower() for node in nodes if isinstance(node, exp.Table | exp.Subquery)}
    )
    for node in nodes:
        if isinstance(node, exp.Column):
            _check_column(node, names, sources)


def _counted(query: exp.Query) -> list[exp.Expr]:
    """Return the parts of a query, each of which is allowed."""
    nodes: list[exp.Expr] = []
    for node in query.walk():
        nodes.append(node)
        if len(nodes) > _MOST_NODES:
            message = f"A query may have {_MOST_NODES} parts. Write a simpler one."
            raise RefusedQueryError(message)
        _check_node(node)
    return nodes


def _check_node(node: exp.Expr) -> None:
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        if name not in _FUNCTIONS:
            raise RefusedQueryError(f"The function {name!r} is not allowed.")
    elif type(node) not in _NODES:
        what = "function" if isinstance(node, exp.Func) else "part of SQL"
        raise RefusedQueryError(f"The {what} {node.key!r} is not allowed.")
    elif isinstance(node, exp.With) and node.recursive:
        raise RefusedQueryError("Recursive queries are not allowed.")
    elif isinstance(node, exp.DataType) and node.this.name not in _TYPES:
        raise RefusedQueryError("Cast to TEXT, INTEGER or REAL.")


def _check_table(table: exp.Table, known: set[str]) -> None:
    # A function in place of a table is no identifier; a schema would be a way to another database.
    if not isinstance(table.this, exp.Identifier) or table.args.get("db"):
        raise RefusedQueryError("Name tables plainly, without a schema and without functions.")
    if table.name.lower() not in known:
        raise RefusedQueryError(f"There is no table {table.name!r}. {_listed('Tables', known)}")


def _check_column(column: exp.Column, names: frozenset[str], sources: set[str]) -> None:
    if column.args.get("db") or column.args.get("catalog"):
        raise RefusedQueryError("Name columns without a schema.")
    if column.table and column.table.lower() not in sources:
        raise RefusedQueryError(f"There is no table {column.table!r} in this query.")
    if not isinstance(column.this, exp.Star) and column.name.lower() not in names:
        raise RefusedQueryError(
            f"There is no column {column.name!r}. {_listed('Columns', names)} Texts stand in "
            "single quotes."
        )


def _aliases(nodes: list[exp.Expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, exp.Alias):
            yield node.alias.lower()
        elif isinstance(node, exp.TableAlias):
            yield from (column.name.lower() for column in node.columns)


def _listed(what: str, names: set[str] | frozenset[str]) -> str:
    return f"{what}: {', '.join(sorted(names))}."


def _limited(query: exp.Query, most: int) -> exp.Query:
    limit = query.args.get("limit")
    if limit is None:
        return query.limit(most)
    number = limit.expression
    if not isinstance(number, exp.Literal) or number.is_string or not number.name.isdecimal():
        raise RefusedQueryError("Write LIMIT with a whole number.")
    return query.limit(min(int(number.name), most))
