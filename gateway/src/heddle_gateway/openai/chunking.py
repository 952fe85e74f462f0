"""OpenAI's chunking strategies, which count tokens, as ours, which count characters."""

from typing import Any

from heddle.knowledge.v1.knowledge_pb2 import Chunking

from heddle_gateway.http import validation
from heddle_gateway.http.json_text import Place

_A_TOKEN = 4  # characters, about
_LEAST = 100
_MOST = 1_000
_TYPES = ("auto", "static")


def chunking(given: object, place: Place) -> Chunking | None:
    """Return how documents are cut; None if the service chooses.

    Raises:
        InvalidRequestError: The strategy is none.
    """
    if given is None:
        return None
    told = validation.mapping(given, place)
    if validation.choice(told.get("type"), place, "type", among=_TYPES) == "auto":
        return None
    static, inside = validation.mapping(told.get("static"), place, "static"), place.at("static")
    size = validation.whole(
        static.get("max_chunk_size_tokens"), inside, "max_chunk_size_tokens", low=_LEAST, high=_MOST
    )
    overlap = validation.whole(
        static.get("chunk_overlap_tokens"), inside, "chunk_overlap_tokens", low=0, high=size // 2
    )
    target = size * _A_TOKEN
    # Half of a passage is as much as OpenAI allows, and one character too much here.
    return Chunking(
        target_characters=target, overlap_characters=min(overlap * _A_TOKEN, target // 2 - 1)
    )


def strategy(chunks: Chunking) -> dict[str, Any]:
    """Return the strategy that a collection has."""
    static = {
        "max_chunk_size_tokens": round(chunks.target_characters / _A_TOKEN),
        "chunk_overlap_tokens": round(chunks.overlap_characters / _A_TOKEN),
    }
    return {"type": "static", "static": static}
