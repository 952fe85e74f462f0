"""Mutated chat completions."""

from typing import Any

from connector.mutations.answers import Answer, Chance, Event, odd_counts, odd_text, without
from connector.mutations.sse import sse

_HEAD = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
_USAGE = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
_UNREADABLE = '{"choices": [{"delta": {"content": oops'


def body(answer: Answer, chance: Chance) -> bytes:
    """Return a whole completion."""
    message: Event = {"role": "assistant", "content": odd_text(answer.text, chance)}
    if answer.reasoning:
        message[_reasoning(chance)] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": f"c{index}",
                "function": {"name": name, "arguments": _arguments(answer, value, chance)},
            }
            for index, (name, value) in enumerate(answer.calls)
        ]
    choice = {"index": _index(chance), "message": message, "finish_reason": _end(answer)}
    event: Event = {**_HEAD, "choices": [choice], "usage": odd_counts(_USAGE, chance)}
    without(event, chance, *_HEAD, "usage")
    without(choice, chance, "index", "finish_reason")
    without(message, chance, "role")
    return answer.encoded(event)


def stream(answer: Answer, chance: Chance) -> bytes:
    """Return a streamed completion."""
    deltas = _deltas(answer, chance)
    ends = [*[None for _ in deltas], _end(answer)]
    choices: list[Event] = [
        {"index": 0, "delta": delta, "finish_reason": end}
        for delta, end in zip([*deltas, {}], ends, strict=True)
    ]
    if chance.random() < 0.15:
        choices[-1]["finish_reason"] = chance.choice((None, "", "null"))
        answer.is_cut = chance.random() < 0.3
    if chance.random() < 0.7:
        for choice in choices:
            choice["index"] = _index(chance)
            if choice["delta"].get("content"):
                choice["delta"]["content"] = odd_text(choice["delta"]["content"], chance)
    events: list[Event] = [{**_HEAD, "choices": [choice]} for choice in choices]
    events.append({**_HEAD, "choices": [], "usage": odd_counts(_USAGE, chance)})
    for event in events:
        _mutate(event, chance)
    return sse(answer, events, _UNREADABLE, chance.choice(("data: [DONE]", "data:[DONE] ")), chance)


def _mutate(event: Event, chance: Chance) -> None:
    without(event, chance, *_HEAD, "usage")
    for choice in event["choices"]:
        without(choice, chance, "index")
        without(choice["delta"], chance, "role")
        if choice["finish_reason"] is None:
            without(choice, chance, "finish_reason")
    if event["choices"] and chance.random() < 0.1:
        event["choices"] = chance.choice((event["choices"], event["choices"][0]))
        event["created"] = {"at": "now"}


def _deltas(answer: Answer, chance: Chance) -> list[Event]:
    deltas: list[Event] = [{"role": "assistant", "content": ""}]
    if answer.reasoning:
        name = _reasoning(chance)
        deltas += [{name: piece} for piece in answer.pieces(answer.reasoning, chance)]
    deltas += [{"content": piece} for piece in answer.pieces(answer.text, chance)]
    for index, (name, arguments) in enumerate(answer.calls):
        first, *others = answer.argument_pieces(arguments, chance)
        function = {"name": name, "arguments": first}
        odd_index = chance.choice((index, str(index)))
        call = {"index": odd_index, "id": f"c{index}", "type": "function", "function": function}
        deltas.append({"tool_calls": [call]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in others
        ]
    return deltas


def _end(answer: Answer) -> str:
    return "tool_calls" if answer.calls else "stop"


def _index(chance: Chance) -> Any:
    return chance.choice((0, "0", 0.0, None))


def _reasoning(chance: Chance) -> str:
    return chance.choice(("reasoning_content", "reasoning"))


def _arguments(answer: Answer, arguments: Any, chance: Chance) -> Any:
    return chance.choice((arguments, "".join(answer.argument_pieces(arguments, chance))))
