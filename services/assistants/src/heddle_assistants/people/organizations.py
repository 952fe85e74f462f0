"""Deletes the rows of an organisation."""

from collections.abc import Collection

from heddle.person.v1 import person_pb2 as pb
from heddle_runtime.identity.people import place
from sqlalchemy import ColumnElement, Table, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.owner_organizations import existing_organization
from heddle_assistants.database import schema

ALL = frozenset(schema.metadata.tables)
_PARENTS = {"assistant_id": schema.assistants, "user_id": schema.users}


async def removed(connection: AsyncConnection, slug: str, names: Collection[str]) -> list[pb.Place]:
    """Delete the rows of an organisation in some tables; return how many each had.

    Raises:
        NotFoundError: There is no such organisation.
    """
    identifier = await existing_organization(connection, slug)
    places = []
    for table in reversed(schema.metadata.sorted_tables):  # children first
        conditions = _conditions(table, identifier)
        if table.name in names and conditions:
            deleted = await connection.execute(delete(table).where(or_(*conditions)))
            places.append(place(table.name, deleted.rowcount, pb.TREATMENT_DELETED))
    return places


def _conditions(table: Table, organization: int) -> list[ColumnElement[bool]]:
    """Return the conditions of the rows that are an organisation's; none if no row can be."""
    conditions: list[ColumnElement[bool]] = [
        table.c[name].in_(select(parent.c.id).where(parent.c.organization_id == organization))
        for name, parent in _PARENTS.items()
        if name in table.c
    ]
    name = "id" if table is schema.organizations else "organization_id"
    return [*conditions, table.c[name] == organization] if name in table.c else conditions
