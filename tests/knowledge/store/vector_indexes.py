"""Tells whether the vectors of a collection are searched through an approximate index."""

from heddle_knowledge.collection.tables import layout
from heddle_knowledge.engines.address import open_engine
from heddle_knowledge.engines.interface import Table
from heddle_knowledge.engines.lance_table import LanceTable
from heddle_knowledge.engines.postgres_table import PostgresTable
from heddle_knowledge.store import KnowledgeStore
from knowledge.store.places import Place


async def has_vector_index(table: Table) -> bool:
    """Return whether a table has an index of vectors."""
    if isinstance(table, PostgresTable):
        return await table.has_vector_index()
    assert isinstance(table, LanceTable)
    indexes = await table.opened.list_indices()
    return any(table.layout.vector in index.columns for index in indexes)


async def is_indexed(place: Place, store: KnowledgeStore, name: str) -> bool:
    """Return whether the table of a collection has an index of vectors."""
    collection = await store.collections.get(name)
    kind = layout(collection.dim, collection.language)
    async with open_engine(place.address, place.options) as engine:
        return await has_vector_index(await engine.open(f"chunks_{collection.id}", kind))
