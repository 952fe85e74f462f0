"""Combines the rankings of several searches."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from heddle_tools_service.capabilities.passages import Passage

_RANKS = 60  # as in the paper that introduced reciprocal rank fusion


def fused(rankings: Iterable[Sequence[Passage]]) -> list[Passage]:
    """Return the passages of all searches, each once, the best first.

    Args:
        rankings: The passages of each search, its best first. Their places alone count.
    """
    passages: dict[str, Passage] = {}
    weights: dict[str, float] = {}
    for each in rankings:
        seen: set[str] = set()
        for place, passage in enumerate(each, 1):
            key = passage.chunk_id or f"{passage.title}\0{passage.text}"
            if key in seen:
                continue
            seen.add(key)
            passages.setdefault(key, passage)
            weights[key] = weights.get(key, 0.0) + 1 / (_RANKS + place)
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
