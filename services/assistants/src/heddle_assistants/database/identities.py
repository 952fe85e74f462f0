"""Ids that came with their rows."""

from sqlalchemy import Table, column, insert, select, text, update
from sqlalchemy import table as table_clause
from sqlalchemy.ext.asyncio import AsyncConnection


async def continue_after_explicit_ids(connection: AsyncConnection, table: Table) -> None:
    """Let new rows of `table` get ids after those that were inserted with one of their own.

    SQLite sees to it itself. Call it in the transaction that inserted them.
    """
    if connection.dialect.name != "postgresql":
        return
    sequence = await _locked_sequence(connection, table)
    await connection.execute(
        text(
            f"SELECT setval({sequence}, max(id)) FROM {table.name} "  # noqa: S608 - a table of ours
            f"HAVING max(id) > coalesce(pg_sequence_last_value({sequence}), 0)"
        )
    )


async def continue_after(connection: AsyncConnection, table: Table, number: int) -> None:
    """Let new rows of `table` get ids above `number`, if theirs are not above it already."""
    if connection.dialect.name == "postgresql":
        sequence = await _locked_sequence(connection, table)
        last = f"coalesce(pg_sequence_last_value({sequence}), 0)"
        query = text(f"SELECT setval({sequence}, :number) WHERE {last} < :number")
        await connection.execute(query, {"number": number})
        return
    name = table.name
    known = select(_SEQUENCES.c.seq).where(_SEQUENCES.c.name == name)
    last_number = await connection.scalar(known)
    if last_number is None:
        await connection.execute(insert(_SEQUENCES).values(name=name, seq=number))
    elif last_number < number:
        query_of_last = update(_SEQUENCES).where(_SEQUENCES.c.name == name)
        await connection.execute(query_of_last.values(seq=number))


_SEQUENCES = table_clause("sqlite_sequence", column("name"), column("seq"))


async def _locked_sequence(connection: AsyncConnection, table: Table) -> str:
    """Return PostgreSQL's expression of the sequence of a table, which is locked.

    Who inserts meanwhile waits: an id taken between reading and setting would be given twice.
    """
    await connection.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))
    return f"pg_get_serial_sequence('{table.name}', 'id')::regclass"
