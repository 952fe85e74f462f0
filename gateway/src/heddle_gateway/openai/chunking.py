"""OpenAI's chunking strategies, which count tokens; the contract counts characters."""

from typing import Annotated, Literal

from heddle.knowledge.v1.knowledge_pb2 import Chunking
from pydantic import Field, model_validator

from heddle_gateway.http.models import Model

_CHARACTERS_PER_TOKEN = 4


class StaticChunking(Model):
    """The sizes of chunks."""

    max_chunk_size_tokens: int = Field(ge=100, le=1_000)
    chunk_overlap_tokens: int = Field(ge=0, le=500, description="At most half of the size.")

    @model_validator(mode="after")
    def _check_overlap(self) -> "StaticChunking":
        if self.chunk_overlap_tokens > self.max_chunk_size_tokens // 2:
            raise ValueError("must have an overlap of at most half of the size")
        return self


class AutoStrategy(Model):
    """About 110 tokens without overlap."""

    type: Literal["auto"]


class StaticStrategy(Model):
    """Chunks of a given size."""

    type: Literal["static"]
    static: StaticChunking


ChunkingStrategy = Annotated[
    AutoStrategy | StaticStrategy | None,
    Field(discriminator="type", description="How all files of a store are split into chunks."),
]


def to_chunking(strategy: AutoStrategy | StaticStrategy | None) -> Chunking | None:
    """Return a strategy as the contract has it; None if the service chooses."""
    if not isinstance(strategy, StaticStrategy):
        return None
    target = strategy.static.max_chunk_size_tokens * _CHARACTERS_PER_TOKEN
    overlap = strategy.static.chunk_overlap_tokens * _CHARACTERS_PER_TOKEN
    # OpenAI allows an overlap of half a chunk; the contract allows one character less.
    return Chunking(target_characters=target, overlap_characters=min(overlap, target // 2 - 1))


def to_strategy(chunking: Chunking) -> dict[str, object]:
    """Return the strategy of a collection."""
    static = {
        "max_chunk_size_tokens": round(chunking.target_characters / _CHARACTERS_PER_TOKEN),
        "chunk_overlap_tokens": round(chunking.overlap_characters / _CHARACTERS_PER_TOKEN),
    }
    return {"type": "static", "static": static}
