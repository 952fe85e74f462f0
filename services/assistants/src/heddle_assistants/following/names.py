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
    """Give each assistant a free name.

    All give up their names first, because two may exchange them. A name of an assistant that keeps
    it is not free: the other one gets its id at the end of its name, as in an import.
    """
    for naming in namings:
        await _write(connection, naming.id, {"name": f"\N{SECTION SIGN}{naming.id}"})
    for naming in namings:
        conditions = [assistants.c[name] == value for name, value in naming.values.items()]
        if await connection.scalar(select(assistants.c.id).where(*conditions)) is not None:
            naming.values["name"] = numbered_name(naming.values["name"], naming.id)
        await _write(connection, naming.id, naming.values)


def numbered_name(name: str, number: int) -> str:
    """Return the name that an assistant gets if its own is not free."""
    return f"{name}_{number}"


async def _write(connection: AsyncConnection, number: int, values: dict[str, Any]) -> None:
    await connection.execute(update(assistants).where(assistants.c.id == number).values(**values))
