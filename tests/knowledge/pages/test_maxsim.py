"""Late interaction, beside the plainest way to compute it; and the words of a question."""

import numpy as np
import pytest
from heddle_knowledge.embedders.embedding import unit
from heddle_knowledge.pages.ranking import matched_words, maxsim
from heddle_knowledge.pages.word_vectors import pooled

RANDOM = np.random.default_rng(7)


def vectors(count: int, dim: int = 16) -> np.ndarray:
    return unit(RANDOM.normal(size=(count, dim)).astype(np.float32))


def plain(query: np.ndarray, page: np.ndarray) -> float:
    """Return the mean over words of the question of their best cosine, one by one."""
    best = []
    for asked in query:
        cosines = [
            sum(float(a) * float(b) for a, b in zip(asked, word, strict=True)) for word in page
        ]
        best.append(max(cosines))
    return sum(best) / len(best)


@pytest.mark.parametrize("words", [1, 3, 12])
def test_it_equals_the_sum_that_the_definition_says(words: int) -> None:
    query, pages = vectors(words), [vectors(count) for count in (1, 7, 40, 2, 512)]
    expected = [plain(query, page) for page in pages]
    assert maxsim(query, pages) == pytest.approx(expected, abs=1e-5)


def test_half_precision_costs_a_thousandth() -> None:
    query, pages = vectors(5), [vectors(count) for count in (3, 9)]
    halved = [page.astype(np.float16) for page in pages]
    assert maxsim(query, halved) == pytest.approx(maxsim(query, pages), abs=1e-3)


def test_pages_without_words_are_the_last() -> None:
    query, page, blank = vectors(2), vectors(4), np.empty((0, 16), np.float16)
    scores = maxsim(query, [blank, page, blank])
    assert list(scores[[0, 2]]) == [-1.0, -1.0]
    assert scores[1] == pytest.approx(plain(query, page), abs=1e-5)
    assert list(maxsim(query, [blank])) == [-1.0]
    assert list(maxsim(np.empty((0, 16), np.float32), [page])) == [-1.0]


def test_a_word_of_the_question_that_a_page_has_scores_one() -> None:
    page = vectors(9)
    assert maxsim(page[[4]], [page])[0] == pytest.approx(1.0, abs=1e-5)


def test_pooling_takes_the_mean_of_neighbours() -> None:
    four = vectors(5)
    halves = pooled(four, 2)
    assert halves.shape == (3, 16)
    assert np.allclose(halves[0], unit(four[0] + four[1]), atol=1e-6)
    assert np.allclose(halves[2], four[4], atol=1e-6)


def test_rare_words_of_a_question_count_most_and_often_little_more_than_once() -> None:
    texts = ["The gap of the shed", "The warp", "the gap, a gap and one more gap", "Weft"]
    scores = list(matched_words("What is the gap?", texts))
    assert scores[2] > scores[0] > scores[1] > scores[3] == 0
    assert scores[2] < 2 * scores[0]


@pytest.mark.parametrize("query", ["", "?!", "織"])
def test_a_question_without_a_word_of_any_page_matches_none(query: str) -> None:
    assert list(matched_words(query, ["The gap", ""])) == [0, 0]
