"""Figures as a table, and the limits that they miss."""

import statistics
from collections.abc import Mapping, Sequence

_SLACK = 0.06
"""By so much hybrid search may be worse than the better of its parts."""

Figures = Mapping[str, Mapping[str, float]]
ByQuestion = Mapping[str, Mapping[str, Sequence[float]]]
"""The same for each question."""


def means(by_question: ByQuestion) -> dict[str, dict[str, float]]:
    """Return the mean of the questions of each set."""
    return {
        name: {way: statistics.fmean(each) for way, each in ways.items()}
        for name, ways in by_question.items()
    }


def choice(by_question: ByQuestion, weights: Sequence[str]) -> str:
    """Return how a weight does that was chosen on the other sets, beside the best for a question.

    Every set is left out once: the weight that is best on the others is measured on it.
    """
    figures = {
        name: ways for name, ways in means(by_question).items() if set(weights) <= ways.keys()
    }
    if len(figures) <= 1:
        return ""
    rows = [
        "",
        "| set | weight of the others | nDCG@10 | best weight by question |",
        "|---|---|---|---|",
    ]
    held_out, best = [], []
    for name, ways in figures.items():
        others = [each for other, each in figures.items() if other != name]
        chosen = max(weights, key=lambda way: sum(each[way] for each in others))
        held_out.append(ways[chosen])
        best.append(
            statistics.fmean(
                max(each) for each in zip(*(by_question[name][way] for way in weights), strict=True)
            )
        )
        rows.append(f"| {name} | {chosen} | {ways[chosen]:.3f} | {best[-1]:.3f} |")
    rows.append(f"| mean | | {statistics.fmean(held_out):.3f} | {statistics.fmean(best):.3f} |")
    fixed = {way: statistics.fmean(each[way] for each in figures.values()) for way in weights}
    rows += ["", ", ".join(f"{way}: {mean:.3f}" for way, mean in fixed.items())]
    return "\n".join(rows)


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
