"""Combines the rankings of several searches."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Literal

from heddle_tools_service.capabilities.passages import Passage

Fusion = Literal["reciprocal_rank", "convex"]
_RANKS = 60  # as in the paper that introduced reciprocal rank fusion


def fused(rankings: Iterable[Sequence[Passage]], fusion: Fusion) -> list[Passage]:
    """Return the passages of all searches, each once, the best first.

    Args:
        rankings: The passages of each search, its best first.
        fusion: `reciprocal_rank` by places alone; `convex` by what each search ordered its
            passages by, brought to 0..1 and averaged over all searches.
    """
    weigh = _by_place if fusion == "reciprocal_rank" else _by_relevance
    passages: dict[str, Passage] = {}
    weights: dict[str, float] = {}
    for each in rankings:
        seen: set[str] = set()
        for passage, weight in zip(each, weigh(each), strict=True):
            key = passage.chunk_id or f"{passage.title}\0{passage.text}"
            if key in seen:
                continue
            seen.add(key)
            passages.setdefault(key, passage)
            weights[key] = weights.get(key, 0.0) + weight
    return [passages[key] for key in sorted(weights, key=lambda key: -weights[key])]


def in_turn(passages: Iterable[Passage]) -> list[Passage]:
    """Return passages of several collections by rank: the best of each, then the second of each.

    Relevance is comparable within a collection only.
    """
    lists: dict[str, list[Passage]] = {}
    for each in passages:
        lists.setdefault(each.collection, []).append(each)
    turns = zip_longest(*lists.values())
    return [each for turn in turns for each in turn if each is not None]


def _by_place(ranking: Sequence[Passage]) -> list[float]:
    return [1 / (_RANKS + place) for place in range(1, len(ranking) + 1)]


def _by_relevance(ranking: Sequence[Passage]) -> list[float]:
    scores = [each.score if each.relevance is None else each.relevance for each in ranking]
    if not scores:
        return []
    low, width = min(scores), max(scores) - min(scores)
    return [(score - low) / width if width else 1.0 for score in scores]
