"""Rows that tests need."""

from heddle_assistants.database.schema import assistants, organizations
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import insert


async def add_organization(database: Database) -> int:
    """Return the id of a new organization."""
    query = insert(organizations).values(slug="uni", name="Uni", created_at=1, updated_at=1)
    async with database.writing() as connection:
        found = await connection.execute(query.returning(organizations.c.id))
        return int(found.scalar_one())


async def add_assistant(database: Database, **columns: object) -> int:
    """Return the id of a new assistant of the organization 1."""
    values = {"organization_id": 1, "name": "a", "owner": "ada@uni.example", "created_at": 1}
    query = insert(assistants).values(**values | {"updated_at": 1} | columns)
    async with database.writing() as connection:
        found = await connection.execute(query.returning(assistants.c.id))
        return int(found.scalar_one())
