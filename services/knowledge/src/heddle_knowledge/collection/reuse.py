"""Reuses the vectors of a collection, so that only changed texts are embedded."""

from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.conditions import Compare
from heddle_knowledge.engines.interface import Table


async def known_vectors(table: Table, document: str) -> dict[str, Vectors]:
    """Return the stored vectors of a document's passages, each of shape [dim], by their texts.

    All of a collection's vectors come from one model, so the same text has the same vector.
    """
    rows = await table.rows(["indexed", "vector"], Compare("document", "=", document))
    if not rows.num_rows:
        return {}
    flat = rows.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors = flat.reshape(rows.num_rows, -1)
    return dict(zip(rows.column("indexed").to_pylist(), vectors, strict=True))
