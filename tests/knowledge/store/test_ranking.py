"""How candidates are ordered, from their numbers alone."""

from datetime import UTC, datetime, timedelta

import numpy as np
from heddle_knowledge.searching.ranking import Scores, aged, convex, reranked, spread

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def scores(*numbers: float) -> Scores:
    return np.array(numbers, dtype=np.float32)


def test_scores_are_spread_over_zero_to_one() -> None:
    numbers = scores(1, 2, 3)
    assert spread(numbers).tolist() == [0, 0.5, 1]
    assert np.allclose(spread(numbers, floor=0.0), [1 / 3, 2 / 3, 1])
    assert spread(numbers[:1]).tolist() == [1]
    assert spread(np.zeros(2, dtype=np.float32), floor=0.0).tolist() == [0, 0]
    assert spread(scores()).tolist() == []


def test_a_question_whose_words_nobody_has_is_ordered_by_meaning() -> None:
    cosine = scores(0.1, 0.7, 0.4)
    order = np.argsort(-convex(cosine, scores(0, 0, 0), 0.7))
    assert order.tolist() == [1, 2, 0]


def test_the_ends_of_a_fixed_weight_are_words_alone_and_meaning_alone() -> None:
    cosine, words = scores(0.1, 0.7, 0.4), scores(5, 1, 0)
    assert np.argsort(-convex(cosine, words, 0.0)).tolist() == [0, 1, 2]
    assert np.argsort(-convex(cosine, words, 1.0)).tolist() == [1, 2, 0]
    assert np.allclose(convex(cosine, words, 0.5), [0.5, 0.6, 0.25])


def test_half_a_year_halves_what_recency_weighs() -> None:
    times = [int((NOW - timedelta(days=days)).timestamp() * 1e6) for days in (0, 180, 360, -5)]
    ones = scores(1, 1, 1, 1)
    assert np.allclose(aged(ones, times, 1.0, NOW), [1, 0.5, 0.25, 1])
    assert np.allclose(aged(ones, times, 0.5, NOW), [1, 0.75, 0.625, 1])
    assert np.allclose(aged(scores(-0.2, -0.2, 0, 0), times, 1.0, NOW), [-0.2, -0.2, 0, 0])


def test_what_is_ordered_anew_stays_before_what_is_not() -> None:
    before = scores(0.9, 0.8, 0.7, 0.3, 0.2)
    after = reranked(before, scores(0.1, 0.5, 0.9), [0, 1, 2])
    assert np.argsort(-after).tolist() == [2, 1, 0, 3, 4]
    alike = reranked(scores(0.5, 0.5, 0.1), scores(0.1, 0.2), [0, 1])
    assert np.argsort(-alike).tolist() == [1, 0, 2]
