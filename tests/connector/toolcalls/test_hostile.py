"""No text is slow to read, and none is slower than its length."""

import pytest

from connector.toolcalls.hostile import SIZE, TEXTS, pieces_of, seconds
from connector.toolcalls.reading import read_pieces

PIECE = 100  # characters
LONGEST = 0.05  # seconds for 100 kB
MOST_GROWTH = 3.0
SMALLEST = 0.002  # seconds; below it a clock's tick is a growth
each_text = pytest.mark.parametrize("name", TEXTS)


@each_text
def test_a_hundred_kilobytes_take_less_than_fifty_milliseconds(name: str) -> None:
    text = TEXTS[name](SIZE)
    assert seconds([text]) < LONGEST
    assert seconds(pieces_of(text, PIECE)) < LONGEST


@each_text
def test_twice_the_text_takes_about_twice_the_time(name: str) -> None:
    for size in (10 * SIZE, PIECE):
        single = seconds(pieces_of(TEXTS[name](SIZE), size))
        double = seconds(pieces_of(TEXTS[name](2 * SIZE), size))
        assert double < MOST_GROWTH * max(single, SMALLEST)


@pytest.mark.parametrize("name", [name for name in TEXTS if not name.startswith("near")])
def test_single_characters_cost_the_same_however_many_come(name: str) -> None:
    single = seconds(TEXTS[name](SIZE // 8))
    double = seconds(TEXTS[name](SIZE // 4))
    assert double < MOST_GROWTH * max(single, SMALLEST)


def test_depth_beyond_all_reason_is_no_call_and_no_error() -> None:
    for open_, close in (("[", "]"), ('{"a":', "}")):
        nested = open_ * 20_000 + "1" + close * 20_000
        text = f'<tool_call>{{"name": "f", "arguments": {{"a": {nested}}}}}</tool_call>'
        assert read_pieces([text]).calls == []
