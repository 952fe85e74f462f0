"""Figures as a table, and the limits that they miss."""

from collections.abc import Mapping

_SLACK = 0.06
"""By so much hybrid search may be worse than the better of its parts."""

Figures = Mapping[str, Mapping[str, float]]


def table(figures: Figures) -> str:
    """Return nDCG@10 as a Markdown table: a row for each set."""
    ways = list(dict.fromkeys(way for by_way in figures.values() for way in by_way))
    rows = [
        f"| {name} | " + " | ".join(_shown(by_way.get(way)) for way in ways) + " |"
        for name, by_way in figures.items()
    ]
    return "\n".join([f"| set | {' | '.join(ways)} |", "|---" * (len(ways) + 1) + "|", *rows])


def missed(figures: Figures, limits: Mapping[str, float | None]) -> list[str]:
    """Return a sentence for every limit that is missed."""
    sentences = []
    for name, by_way in figures.items():
        if not {"BM25", "dense", "hybrid"} <= by_way.keys():
            continue  # not asked for
        hybrid, limit = by_way["hybrid"], limits[name]
        if limit is not None and hybrid < limit:
            sentences.append(f"{name}: hybrid has {hybrid:.3f}, and must have {limit:.2f}.")
        better = max(by_way["BM25"], by_way["dense"])
        if hybrid < better - _SLACK:
            sentences.append(f"{name}: hybrid has {hybrid:.3f}, the better part {better:.3f}.")
    return sentences


def _shown(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.3f}"
