"""Ids that came with their rows."""

from sqlalchemy import Table, text
from sqlalchemy.ext.asyncio import AsyncConnection


async def continue_after_explicit_ids(connection: AsyncConnection, table: Table) -> None:
    """Let new rows of `table` get ids after those that were inserted with one of their own.

    SQLite sees to it itself. Call it in the transaction that inserted them.
    """
    if connection.dialect.name != "postgresql":
        return
    # Who inserts meanwhile waits: an id taken between reading and setting would be given twice.
    await connection.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))
    sequence = f"pg_get_serial_sequence('{table.name}', 'id')::regclass"
    await connection.execute(
        text(
            f"SELECT setval({sequence}, max(id)) FROM {table.name} "  # noqa: S608 - a table of ours
            f"HAVING max(id) > coalesce(pg_sequence_last_value({sequence}), 0)"
        )
    )
