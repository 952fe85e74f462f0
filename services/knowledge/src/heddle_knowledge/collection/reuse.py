"""Reuses the vectors of a collection, so that only changed texts are embedded."""

from dataclasses import dataclass

from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.conditions import Compare
from heddle_knowledge.engines.interface import Table

TOKENS = "tokens"
"""The column of word vectors, see `late_interaction.packed`; null where none are stored."""


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """The vectors that a model computed of a text."""

    vector: Vectors
    """Float32 of shape [dim]."""
    words: bytes | None = None
    """The vectors of its words, as `late_interaction.packed`, if they are stored."""


async def known_texts(table: Table, document: str, *, words: bool) -> dict[str, EmbeddedText]:
    """Return the stored vectors of a document's passages, by their texts.

    All of a collection's vectors come from one model, so the same text has the same vector.

    Args:
        table: The table of the collection.
        document: Its name.
        words: Whether a text counts only if the vectors of its words are there as well.
    """
    columns = ["indexed", "vector", *([TOKENS] if words else [])]
    rows = await table.rows(columns, Compare("document", "=", document))
    if not rows.num_rows:
        return {}
    flat = rows.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors = flat.reshape(rows.num_rows, -1)
    packed = rows.column(TOKENS).to_pylist() if words else [None] * rows.num_rows
    embedded = zip(rows.column("indexed").to_pylist(), vectors, packed, strict=True)
    return {
        text: EmbeddedText(vector, of_words)
        for text, vector, of_words in embedded
        if of_words is not None or not words
    }
