"""Threat 18: a model writes a text that is slow to read for calls of tools."""

import time
from collections.abc import Callable

import pytest
from connector.toolcalls.adversarial import SIZE, TEXTS, pieces_of, seconds
from connector.toolcalls.reading import read_pieces
from runtime.examples import sampled

pytestmark = pytest.mark.alone
PIECE = 100  # characters
MOST_TIMES = 7.5  # what prose takes; the slowest of these texts takes 6.5 times as much
MOST_GROWTH = 3.0
TRIES = 40
PAUSE = 1.0  # seconds until the machine may be less busy
SMALLEST = 0.005  # seconds; below it, what memory costs is more than what reading does
each_text = pytest.mark.parametrize("name", TEXTS)
some_texts = pytest.mark.parametrize("name", sampled(TEXTS, 12))


def holds(measured: Callable[[], bool]) -> bool:
    """Whether it holds in one of some measurements: other work on the machine can falsify one."""
    for _ in range(TRIES):
        if measured():
            return True
        time.sleep(PAUSE)
    return False


@each_text
@pytest.mark.parametrize("piece", sampled([PIECE, SIZE], 1))
def test_no_text_takes_many_times_as_long_as_prose(name: str, piece: int) -> None:
    prose = pieces_of(TEXTS["prose"](SIZE), PIECE)
    pieces = pieces_of(TEXTS[name](SIZE), piece)
    assert holds(lambda: seconds(pieces) < MOST_TIMES * seconds(prose))


@some_texts
@pytest.mark.parametrize("piece", sampled([PIECE, SIZE], 1))
def test_twice_the_text_takes_about_twice_the_time(name: str, piece: int) -> None:
    once = pieces_of(TEXTS[name](SIZE // 2), piece)
    twice = pieces_of(TEXTS[name](SIZE), piece)
    assert holds(lambda: seconds(twice) < MOST_GROWTH * max(seconds(once), SMALLEST))


@some_texts
def test_single_characters_cost_the_same_however_many_come(name: str) -> None:
    once = TEXTS[name](SIZE // 16)
    twice = TEXTS[name](SIZE // 8)
    assert holds(lambda: seconds(twice) < MOST_GROWTH * max(seconds(once), SMALLEST))


def test_depth_beyond_all_reason_is_no_call_and_no_error() -> None:
    for open_, close in (("[", "]"), ('{"a":', "}")):
        nested = open_ * 20_000 + "1" + close * 20_000
        text = f'<tool_call>{{"name": "f", "arguments": {{"a": {nested}}}}}</tool_call>'
        assert read_pieces([text]).calls == []
