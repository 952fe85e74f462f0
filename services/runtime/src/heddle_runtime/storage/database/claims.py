"""Claims of work: one process at a time holds a claim, until a time of the database's clock."""

from sqlalchemy import BigInteger, ColumnElement, cast, extract, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

CLAIM_SECONDS = 20  # until another process takes over the work of a dead one


def clock(connection: AsyncConnection) -> ColumnElement[int]:
    """Return the SQL expression of the database's time, in seconds since 1970.

    The clocks of processes differ: with their own, two of them could hold the same claim.
    """
    is_postgresql = connection.dialect.name == "postgresql"
    now = extract("epoch", func.clock_timestamp()) if is_postgresql else func.unixepoch()
    return cast(now, BigInteger)


async def seconds_now(connection: AsyncConnection) -> int:
    """Return the time of the database, in seconds since 1970."""
    return int((await connection.execute(select(clock(connection)))).scalar_one())
