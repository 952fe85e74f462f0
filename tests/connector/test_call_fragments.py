"""Calls that a provider streams in fragments are put together whatever the fragments are."""

import json
import random
from collections.abc import Sequence
from itertools import pairwise

from heddle_connector.completion.reader import CompletionReader
from heddle_connector.generation.events import ToolCall
from hypothesis import given
from hypothesis import strategies as st

ARGUMENTS = (
    '{"path": "src/größe.py", "lines": [1, 2, {"a": null}]}',
    '{"query": "ein \\"Schuppen\\" 🧵", "n": -1.5e3}',
)
EXPECTED = [ToolCall(f"c{n}", f"function_{n}", text) for n, text in enumerate(ARGUMENTS)]
cuts = st.lists(st.integers(0, max(map(len, ARGUMENTS))), max_size=12)


def fragments(text: str, at: Sequence[int]) -> list[str]:
    places = [0, *sorted(min(each, len(text)) for each in at), len(text)]
    return [text[a:b] for a, b in pairwise(places)]


def payload(parts: list[dict[str, object]], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"tool_calls": parts}, "finish_reason": reason}
    return json.dumps({"model": "m", "choices": [choice]}).encode()


@given(cuts, cuts, st.randoms(use_true_random=False), st.booleans())
def test_two_calls_whose_fragments_interleave_are_two_calls(
    one: Sequence[int], other: Sequence[int], chance: random.Random, together: bool
) -> None:
    left = [fragments(text, at) for text, at in zip(ARGUMENTS, (one, other), strict=True)]
    begun = [
        {"index": n, "id": f"c{n}", "function": {"name": f"function_{n}", "arguments": ""}}
        for n in range(len(left))
    ]
    parts: list[dict[str, object]] = [*begun]
    while waiting := [n for n, pieces in enumerate(left) if pieces]:
        n = chance.choice(waiting)
        parts.append({"index": n, "function": {"arguments": left[n].pop(0)}})
    chunks = [parts] if together else [[part] for part in parts]
    reader = CompletionReader()

    events = [*reader.read([payload(chunk) for chunk in chunks])]
    events += reader.end([payload([], "tool_calls")])

    reader.check()
    assert [event for event in events if isinstance(event, ToolCall)] == EXPECTED
