"""Removes deleted rows from the files of a PostgreSQL server."""

_MAX_REWRITTEN_BYTES = 32 * 1024**2  # a larger table would be locked for too long
DEAD_ROWS = """
SELECT schemaname, relname, pg_total_relation_size(relid) FROM pg_stat_user_tables
WHERE n_dead_tup > 0 AND pg_has_role(current_user, (
  SELECT relowner FROM pg_class WHERE oid = relid
), 'USAGE') AND schemaname = '{schema}'
"""
"""Selects the tables of a schema that have deleted rows, as arguments of `vacuum`."""
LOCK_TIMEOUT = "SET lock_timeout = '1s'"
"""Execute it first: without a limit, other statements queue behind one that waits for its lock."""


def vacuum(schema: str, table: str, size: int) -> str:
    """Return the statement that removes deleted rows of a table.

    A small table is written anew, which excludes other uses for a moment. In a larger one, bytes of
    deleted rows stay until the server writes other rows in their place.
    """
    mode = "(FULL)" if size <= _MAX_REWRITTEN_BYTES else ""
    return f'VACUUM {mode} "{schema}"."{table}"'
