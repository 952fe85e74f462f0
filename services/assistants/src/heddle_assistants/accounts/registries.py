"""Lookups in the registries of collections and knowledge stores, for an assistant."""

from collections.abc import Iterable, Sequence
from typing import Any

from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, Select

from heddle_assistants.accounts.owner_organizations import organization_of


async def registered(
    database: Database,
    query: Select[Any],
    identifier: ColumnElement[str],
    ids: Iterable[str],
    owner: str,
    organization: str,
) -> tuple[Sequence[Any], str]:
    """Return the registered ones of `ids` in their order, and the assistant's organisation.

    `query` selects the columns of the registry; `identifier` is the one with the identifiers.
    `owner` is the canonical e-mail address of the assistant's owner, empty if it has none, and
    `organization` the slug of its organisation. Without a slug, the organisation is the owner's.
    """
    known = {each for each in ids if "\0" not in each}  # which PostgreSQL does not compare
    query = query.where(identifier.in_(known)).order_by(identifier)
    async with database.reading() as connection:
        rows = (await connection.execute(query)).all()
        if rows and not organization:
            organization = await organization_of(connection, owner) or ""
    return rows, organization or DEFAULT_ORGANIZATION
