"""Continues the ids of tables into which rows were inserted with ids of their own."""

from sqlalchemy import Table, column, insert, select, text, update
from sqlalchemy import table as table_clause
from sqlalchemy.ext.asyncio import AsyncConnection


async def continue_after_explicit_ids(connection: AsyncConnection, table: Table) -> None:
    """Let the ids of new rows continue after those of rows that were inserted with an id.

    SQLite does so itself. Call this in the transaction that inserted the rows.
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
    """Let the ids of new rows be above `number`, unless they already are."""
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
    """Lock a table, and return PostgreSQL's expression of its sequence.

    The lock stops other inserts: an id taken between reading and setting would be given twice.
    """
    await connection.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))
    return f"pg_get_serial_sequence('{table.name}', 'id')::regclass"
