"""Finds the collections that an assistant names, in the name of its owner."""

from typing import TYPE_CHECKING

from heddle_knowledge.access import meant, owner_of

from heddle_tools_service.sdk import Assistant

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.records import Collection
    from heddle_knowledge.store import KnowledgeStore


async def searched(store: "KnowledgeStore", assistant: Assistant, name: str) -> "Collection":
    """Return the collection that an assistant calls `name`, if its owner may read it now.

    Raises:
        CollectionNotFoundError: There is none.
        StorageError: The collections cannot be read.
    """
    owner = owner_of(assistant.owner, assistant.organization)
    return meant((await store.collections.all()).values(), owner, name)
