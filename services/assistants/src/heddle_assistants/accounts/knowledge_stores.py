"""The registry of knowledge stores: who may search each, and what a search needs."""

from collections.abc import Iterable

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import select

from heddle_assistants.accounts.registries import registered
from heddle_assistants.database.schema import knowledge_stores, organizations

_REGISTERED = select(
    knowledge_stores.c.store_id,
    organizations.c.slug,
    knowledge_stores.c.owner_email,
    knowledge_stores.c.is_shared,
    knowledge_stores.c.embedding_vendor,
    knowledge_stores.c.embedding_endpoint,
).join(organizations, knowledge_stores.c.organization_id == organizations.c.id)


class KnowledgeStores:
    """Looks knowledge stores up."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def among(
        self, ids: Iterable[str], owner: str, organization: str
    ) -> list[pb.RegisteredStore]:
        """Return those of `ids` that are knowledge stores, in the order of their ids.

        `owner` and the slug `organization` are those of an assistant, and `ids` is what it calls
        collections. Without a slug, the organisation is the owner's.
        """
        owner = canonical_email(owner)
        rows, home = await registered(
            self._database, _REGISTERED, knowledge_stores.c.store_id, ids, owner, organization
        )
        return [
            pb.RegisteredStore(
                id=identifier,
                organization=slug,
                embedding_vendor=vendor,
                embedding_endpoint=endpoint,
            )
            if slug == home and (shared or (owner and whose == owner))
            else pb.RegisteredStore(id=identifier, withheld=True)
            for identifier, slug, whose, shared, vendor, endpoint in rows
        ]
