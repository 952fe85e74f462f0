"""Deletes conversations and responses after the days of their organisations."""

from typing import Any

from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, Select, Table, select, tuple_

from heddle_assistants.accounts.resolved_settings import limits_of_organizations
from heddle_assistants.conversations.items import recount, remove
from heddle_assistants.conversations.owners import now
from heddle_assistants.database.schema import (
    conversation_owners,
    conversations,
    organizations,
    responses,
)

_DAY = 86_400
_BATCH = 100
RESPONSE_DAYS = 30
"""Days after which a response that belongs to no conversation is deleted at the latest."""


async def expire(database: Database, days: int) -> None:
    """Delete what changed last before the limit of its organisation, `days` without one."""
    limits = await limits_of_organizations(database)
    own = {
        each.organization: each.conversations_days
        for each in limits
        if each.HasField("conversations_days")
    }
    ids = select(organizations.c.id)
    others = organizations.c.slug.not_in(own)
    groups = [(ids.where(others), days)]
    groups += [(ids.where(organizations.c.slug == slug), each) for slug, each in own.items()]
    for of_organizations, limit in groups:
        before = now() - limit * _DAY
        await _expire(database, conversations, of_organizations, before)
        before = now() - min(limit, RESPONSE_DAYS) * _DAY
        await _expire(database, responses, of_organizations, before)


async def _expire(
    database: Database, table: Table, of_organizations: Select[Any], before: int
) -> None:
    old: ColumnElement[bool] = table.c.updated_at < before
    old &= table.c.organization_id.in_(of_organizations)
    if table is responses:
        old &= table.c.conversation_id == ""
    query = select(table.c.id, table.c.organization_id, table.c.owner_email).where(old)
    while True:
        # Reads what there is beside the writers, which wait for the deletion of a batch only.
        async with database.reading() as connection:
            rows = (await connection.execute(query.limit(_BATCH))).all()
        if not rows:
            return
        ids = [row.id for row in rows]
        owners = tuple_(conversation_owners.c.organization_id, conversation_owners.c.owner_email)
        async with database.writing() as connection:
            if table is conversations:
                await remove(connection, conversation_ids=ids)
            else:
                await remove(connection, response_ids=ids)
            await recount(connection, owners.in_({(row[1], row[2]) for row in rows}))
