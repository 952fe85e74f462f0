"""The registry of collections at knowledge-base servers, with their owners."""

from collections.abc import Iterable

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import select

from heddle_assistants.accounts.knowledge_stores import KnowledgeStores
from heddle_assistants.accounts.organizations import COLUMNS, Organization
from heddle_assistants.accounts.registries import registered
from heddle_assistants.accounts.resolution import knowledge_server
from heddle_assistants.database.schema import knowledge_bases, organizations

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
        rows, home = await registered(
            self._database, _REGISTERED, knowledge_bases.c.kb_id, ids, owner, organization
        )
        response = pb.ResolveCollectionsResponse()
        for identifier, whose, shared, *columns in rows:
            of = Organization(*columns)
            if shared and of.slug == home:
                response.shared.append(identifier)
            elif of.slug != home or not owner or whose != owner:
                response.withheld.add(id=identifier, server_url=knowledge_server(of.settings))
        return response
