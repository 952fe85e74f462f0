"""Vectors that a collection has already, so that only what changed is embedded."""

from heddle_tools_service.knowledge.embedding import Vectors
from heddle_tools_service.knowledge.engines.conditions import Compare
from heddle_tools_service.knowledge.engines.interface import Table


async def known_vectors(table: Table, document: str) -> dict[str, Vectors]:
    """Return the vectors of a document's passages, by the text that was embedded.

    All of a collection's vectors come from one model, so the same text has the same vector.

    Returns:
        Of each text a vector, float32 of shape [dim]; nothing for a document that is new.
    """
    rows = await table.rows(["indexed", "vector"], Compare("document", "=", document))
    if not rows.num_rows:
        return {}
    flat = rows.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors = flat.reshape(rows.num_rows, -1)
    return dict(zip(rows.column("indexed").to_pylist(), vectors, strict=True))
