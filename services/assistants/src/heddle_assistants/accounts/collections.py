"""LAMB's registry of the collections at knowledge-base servers: whose each of them is."""

from collections.abc import Iterable

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.email_address import canonical_email
from heddle_runtime.identity import DEFAULT_ORGANIZATION
from sqlalchemy import select

from heddle_assistants.accounts.knowledge_stores import KnowledgeStores
from heddle_assistants.accounts.organizations import COLUMNS, Organization
from heddle_assistants.accounts.resolution import knowledge_server
from heddle_assistants.database.engine import Database
from heddle_assistants.database.schema import knowledge_bases, organizations
from heddle_assistants.repository.organizations import organization_of

_REGISTERED = select(
    knowledge_bases.c.kb_id, knowledge_bases.c.owner_email, knowledge_bases.c.is_shared, *COLUMNS
).join(organizations, knowledge_bases.c.organization_id == organizations.c.id)


class Collections:
    """Looks collections up."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.stores = KnowledgeStores(database)

    async def resolved(
        self, ids: Iterable[str], owner: str, organization: str
    ) -> pb.ResolveCollectionsResponse:
        """Return which of `ids` are not for an owner and which are shared, in their order.

        Args:
            ids: What the server calls collections.
            owner: The owner of the assistant that asks; empty if it has none.
            organization: The slug of the assistant's organisation; if empty, the owner's.
        """
        owner = canonical_email(owner)
        known = {each for each in ids if "\0" not in each}  # which PostgreSQL does not compare
        query = _REGISTERED.where(knowledge_bases.c.kb_id.in_(known))
        async with self._database.reading() as connection:
            rows = (await connection.execute(query.order_by(knowledge_bases.c.kb_id))).all()
            if rows and not organization:
                organization = await organization_of(connection, owner) or ""
        home = organization or DEFAULT_ORGANIZATION
        response = pb.ResolveCollectionsResponse()
        for identifier, whose, shared, *columns in rows:
            of = Organization(*columns)
            if shared and of.slug == home:
                response.shared.append(identifier)
            elif of.slug != home or not owner or whose != owner:
                response.withheld.add(id=identifier, server_url=knowledge_server(of.settings))
        return response
