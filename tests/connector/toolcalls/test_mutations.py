"""What models break: ten thousand messages that were right once."""

import random

import pytest

from connector.toolcalls.formats import FUNCTIONS, WRITINGS
from connector.toolcalls.reading import ToolCallReading, read_pieces, read_tool_calls

MUTATIONS = 10_000
_PIECE = 7
CALLS = (("get_weather", {"city": "Zürich", "days": 2}), ("note.add", {"text": "a <b> `c`"}))
BEFORE = "So:\n"
MESSAGES = [f"{BEFORE}{writing.message(*CALLS)}\nok" for writing in WRITINGS]
NOISE = (*"<>{}[]()\"'`\\:,|=/\n a0é", "<tool_call>", "</tool_call>", "<think>", "```", "null")


def mutated(message: str, chance: random.Random) -> str:
    """Return a message in which something is lost, doubled, moved or added, or several of it."""
    for _ in range(chance.randint(1, 3)):
        a, b = sorted(chance.randint(0, len(message)) for _ in range(2))
        b = min(b, a + 20)
        at = chance.randint(0, len(message))
        match chance.randint(0, 4):
            case 0:
                message = message[:a] + message[b:]
            case 1:
                message = message[:b] + message[a:b] + message[b:]
            case 2:
                message = message[:at] + chance.choice(NOISE) + message[at:]
            case 3:
                message = message[:a] + chance.choice(NOISE) + message[b:]
            case _:
                message = message[:at]
    return message


@pytest.mark.exhaustive
def test_no_mutation_raises_hangs_or_hangs_on_its_cuts() -> None:
    chance = random.Random(1)  # noqa: S311 - the same mutations each time
    for number in range(MUTATIONS):
        message = mutated(MESSAGES[number % len(MESSAGES)], chance)
        reading = read_tool_calls(message, FUNCTIONS)
        pieces = [message[at : at + _PIECE] for at in range(0, len(message), _PIECE)]
        assert read_pieces(pieces, FUNCTIONS) == reading, message
        if message.startswith(BEFORE):
            assert reading.content.startswith(BEFORE.strip()), message


def test_nothing_is_nothing() -> None:
    assert read_tool_calls("", FUNCTIONS) == ToolCallReading()
