"""How candidates are ordered, from their numbers alone."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from heddle_knowledge.embedders.late_interaction import interaction, packed
from heddle_knowledge.searching.ranking import (
    Scores,
    adaptive,
    aged,
    convex,
    quotation,
    reciprocal_rank,
    reranked,
    spread,
)

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


@pytest.mark.parametrize(
    ("query", "text", "part"),
    [
        ("Setting the Paper Size", "4.2 setting THE paper size: choose", 1.0),
        ("setting the paper size", "the paper, its size and its setting", 1 / 3),
        ("Why is it slow?", "Because of the disk.", 0.0),
        ("E4711", "Error E4711 means a loose belt.", 1.0),
        ("E4711", "Error E4712 means a tight belt.", 0.0),
        ("???", "anything", 0.0),
        ("検索の方法", "全文検索の設定", 2 / 4),
        ("Python の検索", "検索と Python", 1 / 3),
    ],
)
def test_a_text_quotes_the_pairs_of_words_that_stand_in_it(
    query: str, text: str, part: float
) -> None:
    assert quotation(query, text) == pytest.approx(part)


def test_words_decide_where_a_text_quotes_the_question_and_meaning_where_none_does() -> None:
    cosine, words = scores(0.9, 0.5, 0.2), scores(2.0, 9.0, 8.5)
    assert int(np.argmax(adaptive("why", cosine, words, scores(0, 0, 0)))) == 0
    assert int(np.argmax(adaptive("why", cosine, words, scores(0, 1, 0)))) == 1


def test_of_several_passages_that_quote_the_question_alike_the_nearest_is_first() -> None:
    """So it is with the title of a section that heads each of its pages."""
    cosine, words = scores(0.932, 0.950, 0.88, 0.80), scores(24.1, 22.3, 17.7, 3.0)
    assert np.argmax(adaptive("why", cosine, words, scores(1, 1, 1, 0))) == 1


def test_of_two_passages_with_like_words_the_one_that_quotes_is_first() -> None:
    cosine, words = scores(0.5, 0.5, 0.1), scores(8.0, 8.2, 1.0)
    assert np.argmax(adaptive("why", cosine, words, scores(1, 0, 0))) == 0


def test_a_question_whose_words_nobody_has_is_ordered_by_meaning() -> None:
    cosine = scores(0.1, 0.7, 0.4)
    order = np.argsort(-adaptive("why", cosine, scores(0, 0, 0), scores(0, 0, 0)))
    assert order.tolist() == [1, 2, 0]


def test_the_longer_the_question_the_more_its_words_count() -> None:
    cosine, words, quoted = scores(0.9, 0.3, 0.2), scores(1, 9, 8), scores(0, 0, 0)
    short = adaptive("why", cosine, words, quoted)
    long = adaptive("why " * 100, cosine, words, quoted)
    longer = adaptive("why " * 1_000, cosine, words, quoted)
    assert long[1] - long[0] > short[1] - short[0]
    assert longer.tolist() == long.tolist()


def test_the_ends_of_a_fixed_weight_are_words_alone_and_meaning_alone() -> None:
    cosine, words = scores(0.1, 0.7, 0.4), scores(5, 1, 0)
    assert np.argsort(-convex(cosine, words, 0.0)).tolist() == [0, 1, 2]
    assert np.argsort(-convex(cosine, words, 1.0)).tolist() == [1, 2, 0]
    assert np.allclose(convex(cosine, words, 0.5), [0.5, 0.6, 0.25])


def test_fusion_by_places_looks_at_no_distance() -> None:
    near = reciprocal_rank(scores(0.90, 0.89, 0.1), scores(3, 2, 0), 0.5)
    far = reciprocal_rank(scores(0.90, 0.20, 0.1), scores(90, 2, 0), 0.5)
    assert near.tolist() == far.tolist()
    assert np.allclose(near, [1, 61 / 62, 0.5 * 61 / 63])


def test_half_a_year_halves_what_recency_weighs() -> None:
    times = [int((NOW - timedelta(days=days)).timestamp() * 1e6) for days in (0, 180, 360, -5)]
    ones = scores(1, 1, 1, 1)
    assert np.allclose(aged(ones, times, 1.0, NOW), [1, 0.5, 0.25, 1])
    assert np.allclose(aged(ones, times, 0.5, NOW), [1, 0.75, 0.625, 1])
    assert np.allclose(aged(scores(-0.2, -0.2, 0, 0), times, 1.0, NOW), [-0.2, -0.2, 0, 0])


def test_what_is_ordered_anew_stays_before_what_is_not() -> None:
    before = scores(0.9, 0.8, 0.7, 0.3, 0.2)
    after = reranked(before, scores(0.1, 0.5, 0.9), [0, 1, 2], 1.0)
    assert np.argsort(-after).tolist() == [2, 1, 0, 3, 4]
    blended = reranked(before, scores(0.1, 0.5, 0.3), [0, 1, 2], 0.3)
    assert np.argsort(-blended).tolist() == [0, 1, 2, 3, 4]
    alike = reranked(scores(0.5, 0.5, 0.1), scores(0.1, 0.2), [0, 1], 0.3)
    assert np.argsort(-alike).tolist() == [1, 0, 2]


def test_late_interaction_of_packed_words_is_near_the_exact_mean_of_the_best() -> None:
    random = np.random.default_rng(1)
    words = random.normal(size=(4, 384)).astype(np.float32)
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    passage = np.repeat(words[:3], 2, axis=0)  # neighbours alike: pooling loses nothing
    question = np.stack([words[0], words[3]])
    exact = (question @ passage.T).max(axis=1).mean()
    found = interaction(question, [packed(passage), packed(passage[:1]), None, b""])
    assert found[0] == pytest.approx(exact, abs=0.01)
    assert found[1] == pytest.approx((question @ passage[0]).mean(), abs=0.01)
    assert found[2:].tolist() == [0, 0]
    assert len(packed(passage)) == 3 * 384
