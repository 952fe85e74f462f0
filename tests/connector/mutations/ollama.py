"""Mutated answers of Ollama's chat API."""

import json
from typing import Any

from connector.mutations.answers import Answer, Chance, Event, odd_counts, odd_text, without

_HEAD = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}
_COUNTS = {"prompt_eval_count": 5, "eval_count": 7, "total_duration": 9}
_NOISE = ("", " ", "{}", "null", "[]", '"x"')
_UNREADABLE = '{"message": {"content": oops'


def body(answer: Answer, chance: Chance) -> bytes:
    """Return a whole answer."""
    message: Event = {"role": "assistant", "content": odd_text(answer.text, chance)}
    if answer.reasoning:
        message["thinking"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = _calls(answer, chance)
    line = {**_HEAD, "message": message, **_last(chance)}
    without(line, chance, *_HEAD, *_COUNTS, "done", "done_reason")
    return answer.encoded(line)


def stream(answer: Answer, chance: Chance) -> bytes:
    """Return the lines of a streamed answer."""
    messages: list[Event] = []
    if answer.reasoning:
        messages += [
            {"content": "", "thinking": piece} for piece in answer.pieces(answer.reasoning, chance)
        ]
    messages += [
        {"role": "assistant", "content": odd_text(piece, chance)}
        for piece in answer.pieces(answer.text, chance)
    ]
    messages += [{"content": "", "tool_calls": [call]} for call in _calls(answer, chance)]
    answer.is_cut = chance.random() < 0.05
    events: list[Event] = [{**_HEAD, "message": message, "done": False} for message in messages]
    if not answer.is_cut:
        events.append({**_HEAD, "message": {"role": "assistant", "content": ""}, **_last(chance)})
    for event in events:
        without(event, chance, *_HEAD, *_COUNTS, "done_reason")
        without(event["message"], chance, "role")
        if not (event["done"] or answer.is_cut):  # else a line alone is a whole answer
            without(event, chance, "done")
    return _lines(answer, events, chance)


def _lines(answer: Answer, events: list[Event], chance: Chance) -> bytes:
    lines: list[bytes] = []
    for event in events:
        if chance.random() < 0.1:
            lines.append(chance.choice(_NOISE).encode())
        if chance.random() < 0.01:
            answer.is_damaged = True
            lines.append(_UNREADABLE.encode())
        lines.append(answer.encoded(event))
    end = chance.choice((b"\n", b"\r\n", b"\r"))
    return end.join(lines) + (end if chance.random() < 0.9 else b"")


def _calls(answer: Answer, chance: Chance) -> list[Event]:
    return [
        {"function": {"name": name, "arguments": _arguments(arguments, chance)}}
        for name, arguments in answer.calls
    ]


def _arguments(arguments: Any, chance: Chance) -> Any:
    return chance.choice((arguments, json.dumps(arguments)))


def _last(chance: Chance) -> Event:
    return {
        "done": chance.choice((True, True, "true", 1)),
        "done_reason": "stop",
        **odd_counts(_COUNTS, chance),
    }
