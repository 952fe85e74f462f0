"""nDCG@10."""

from collections.abc import Iterable

import numpy as np

DEPTH = 10


def ndcg(found: Iterable[str], right: frozenset[str]) -> float:
    """Return the nDCG@10 of labels in the order found; one that comes again counts once."""
    first = list(dict.fromkeys(found))[:DEPTH]
    gain = sum(1 / np.log2(place + 2) for place, label in enumerate(first) if label in right)
    best = sum(1 / np.log2(place + 2) for place in range(min(len(right), DEPTH)))
    return float(gain / best)
