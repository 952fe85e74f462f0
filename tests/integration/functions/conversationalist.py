"""A model that understands what the public probe asks of it, and calls functions in its own way."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from connector.toolcalls.formats import Writing
from integration.functions.upstream import Body, Delta, calls, goes_on, says

Call = tuple[str, Mapping[str, Any]]
_PIECE = 3
_THOUGHT = "9.9 is 9.90, and 0.90 is more than 0.11."
_NOTE = {"title": "Grüße aus Zürich", "body": "Café ☕ in 東京 — naïve résumé 🚀"}
_PEOPLE = [{"name": name, "email": f"{name.lower()}@example.com"} for name in ("Ana", "Bo")]
_EVENT = {
    "title": "Design review",
    "start": "2026-10-01T15:00:00Z",
    "attendees": _PEOPLE,
    "location": {"city": "Berlin", "room": "4.12"},
}
_WISHES: Mapping[str, Sequence[Call]] = {
    "weather in Paris right now": [("get_weather", {"city": "Paris"})],
    "both calls": [("get_weather", {"city": city}) for city in ("Paris", "Tokyo")],
    "Create an event": [("create_event", _EVENT)],
    "Save a note": [("save_note", _NOTE)],
    "What time is it": [("get_server_time", {})],
    "about Lisbon": [("get_weather", {"city": "Lisbon"})],
    "9.11 or 9.9": [("record_answer", {"answer": "9.9"})],
}
Voice = Callable[[str, Sequence[Call]], Sequence[Delta]]
"""How a model says a thought and calls."""


def answering(voice: Voice) -> Callable[[Body], Sequence[Delta]]:
    """Return a script that answers each request of the probe as a good model would."""

    def turn(body: Body) -> Sequence[Delta]:
        *_, last = body["messages"]
        if last["role"] == "tool":
            weather = json.loads(last["content"])
            return [says(f"It is {weather['temp_c']} degrees "), says(f"and {weather['sky']}.")]
        offered = {tool["function"]["name"] for tool in body["tools"]}
        wishes = next((them for words, them in _WISHES.items() if words in last["content"]), [])
        if not wishes:
            return [says("4"), says("2")]
        assert offered >= {name for name, _ in wishes}
        return voice(_THOUGHT if "step by step" in last["content"] else "", wishes)

    return turn


def native(thought: str, wishes: Sequence[Call]) -> Sequence[Delta]:
    """Return calls as the protocol has them, in fragments that take turns."""
    began = [calls(name, "", index, f"call_{index}") for index, (name, _) in enumerate(wishes)]
    rest = [_pieces(json.dumps(arguments, ensure_ascii=False)) for _, arguments in wishes]
    fragments = [
        goes_on(piece, index)
        for _, index, piece in sorted(
            (number, index, piece)
            for index, of_one in enumerate(rest)
            for number, piece in zip(count(), of_one, strict=False)
        )
    ]
    return [*({"reasoning_content": piece} for piece in _pieces(thought)), *began, *fragments]


def written(writing: Writing) -> Voice:
    """Return a way of writing calls into the text, as a server does that knows no better."""

    def voice(thought: str, wishes: Sequence[Call]) -> Sequence[Delta]:
        text = f"<think>\n{thought}\n</think>\n\n" if thought else ""
        return [says(piece) for piece in _pieces(text + writing.message(*wishes))]

    return voice


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
