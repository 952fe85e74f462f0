"""Gives followed assistants names, each unique for its owner."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.database.schema import assistants


@dataclass(slots=True)
class Naming:
    """The planned name of an assistant."""

    id: int
    values: dict[str, Any]
    """`organization_id`, `name` and `owner`; a name that is not free is replaced."""


async def settle_names(connection: AsyncConnection, namings: Sequence[Naming]) -> None:
    """Give each assistant a free name, in the order in which names become free.

    Two assistants may exchange their names. A name of an assistant that keeps it is not free: the
    other one gets its id at the end of its name, as in an import.
    """
    waiting = list(namings)
    freed: set[int] = set()
    while waiting:
        later = []
        for naming in waiting:
            holder = await _holder(connection, naming)
            if holder is None:
                await _write(connection, naming)
            else:
                later.append((naming, holder))
        if len(later) < len(waiting):
            waiting = [naming for naming, _ in later]
            continue
        naming, holder = later[0]
        if holder in freed or holder not in {each.id for each, _ in later}:
            naming.values["name"] = numbered_name(naming.values["name"], naming.id)
        else:  # both wait for each other
            freed.add(holder)
            await _set_aside(connection, holder)
        waiting = [each for each, _ in later]


def numbered_name(name: str, number: int) -> str:
    """Return the name that an assistant gets if its own is not free."""
    return f"{name}_{number}"


async def _holder(connection: AsyncConnection, naming: Naming) -> int | None:
    conditions = [assistants.c[name] == value for name, value in naming.values.items()]
    query = select(assistants.c.id).where(assistants.c.id != naming.id, *conditions)
    holder: int | None = await connection.scalar(query)
    return holder


async def _write(connection: AsyncConnection, naming: Naming) -> None:
    query = update(assistants).where(assistants.c.id == naming.id)
    await connection.execute(query.values(**naming.values))


async def _set_aside(connection: AsyncConnection, number: int) -> None:
    query = update(assistants).where(assistants.c.id == number)
    await connection.execute(query.values(name=f"\N{SECTION SIGN}{number}"))
