"""Finds the collections that an assistant names, in the name of its owner."""

from typing import TYPE_CHECKING

from heddle_tools_service.sdk import Assistant

if TYPE_CHECKING:  # loads the engine
    from heddle_tools_service.knowledge.records import Collection
    from heddle_tools_service.knowledge.store import KnowledgeStore


async def searched(store: "KnowledgeStore", assistant: Assistant, name: str) -> "Collection":
    """Return the collection that an assistant calls `name`, if its owner may read it.

    Raises:
        CollectionNotFoundError: There is none.
        InvalidInputError: That is no name.
    """
    del assistant  # names are the store's so far, not yet an organisation's
    return await store.get_collection(name)
