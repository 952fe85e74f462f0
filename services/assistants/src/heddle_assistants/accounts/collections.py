"""The registries of collections and of knowledge stores at other servers, with their owners."""

from collections.abc import Sequence
from typing import Any

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, Select, select

from heddle_assistants.accounts.organizations import COLUMNS, Organization
from heddle_assistants.accounts.owner_organizations import organization_of
from heddle_assistants.accounts.resolution import knowledge_server
from heddle_assistants.database.schema import knowledge_bases, knowledge_stores, organizations

_COLLECTIONS = select(
    knowledge_bases.c.kb_id, knowledge_bases.c.owner_email, knowledge_bases.c.is_shared, *COLUMNS
).join(organizations, knowledge_bases.c.organization_id == organizations.c.id)
_STORES = select(
    knowledge_stores.c.store_id,
    organizations.c.slug,
    knowledge_stores.c.owner_email,
    knowledge_stores.c.is_shared,
    knowledge_stores.c.embedding_vendor,
    knowledge_stores.c.embedding_endpoint,
).join(organizations, knowledge_stores.c.organization_id == organizations.c.id)


class Collections:
    """Looks up what assistants call collections, in both registries."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def resolved(
        self, request: pb.ResolveCollectionsRequest
    ) -> pb.ResolveCollectionsResponse:
        """Return what a request asks for; each list is in the order of the ids."""
        response = pb.ResolveCollectionsResponse()
        owner = canonical_email(request.owner)
        rows, home = await self._registered(_COLLECTIONS, knowledge_bases.c.kb_id, request)
        for identifier, whose, shared, *columns in rows:
            of = Organization(*columns)
            if shared and of.slug == home:
                response.shared.append(identifier)
            elif of.slug != home or not owner or whose != owner:
                response.withheld.add(id=identifier, server_url=knowledge_server(of.settings))
        rows, home = await self._registered(_STORES, knowledge_stores.c.store_id, request)
        for identifier, slug, whose, shared, vendor, endpoint in rows:
            if slug == home and (shared or (owner and whose == owner)):
                response.stores.add(
                    id=identifier,
                    organization=slug,
                    embedding_vendor=vendor,
                    embedding_endpoint=endpoint,
                )
            else:
                response.stores.add(id=identifier, withheld=True)
        return response

    async def _registered(
        self,
        query: Select[Any],
        identifier: ColumnElement[str],
        request: pb.ResolveCollectionsRequest,
    ) -> tuple[Sequence[Any], str]:
        known = {each for each in request.ids if "\0" not in each}  # not compared by PostgreSQL
        query = query.where(identifier.in_(known)).order_by(identifier)
        organization = request.organization
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
            if rows and not organization:
                organization = await organization_of(connection, request.owner) or ""
        return rows, organization or DEFAULT_ORGANIZATION
