"""Mutated messages of Anthropic's API."""

from typing import Any

from connector.mutations.answers import Answer, Chance, Event, odd_counts, odd_text, without
from connector.mutations.sse import sse

_HEAD = {"id": "msg_01", "type": "message", "role": "assistant", "model": "m"}
_INPUT = {"input_tokens": 5, "output_tokens": 1}
_OUTPUT = {"output_tokens": 7}
_UNREADABLE = '{"type": "content_block_delta", "delta": {"text": oops'


def body(answer: Answer, chance: Chance) -> bytes:
    """Return a whole message."""
    content: list[Event] = []
    if answer.reasoning:
        content.append({"type": "thinking", "thinking": answer.reasoning, "signature": "s=="})
    content.append({"type": "text", "text": odd_text(answer.text, chance)})
    content += [
        {"type": "tool_use", "id": f"c{index}", "name": name, "input": arguments}
        for index, (name, arguments) in enumerate(answer.calls)
    ]
    message: Event = {**_HEAD, "content": content, "stop_reason": _end(answer)}
    message["usage"] = odd_counts(_INPUT, chance)
    without(message, chance, *_HEAD, "usage", "stop_reason")
    return answer.encoded(message)


def stream(answer: Answer, chance: Chance) -> bytes:
    """Return a streamed message."""
    blocks = _blocks(answer, chance)
    start: Event = {
        **_HEAD,
        "content": [],
        "stop_reason": None,
        "usage": odd_counts(_INPUT, chance),
    }
    without(start, chance, *_HEAD, "content", "stop_reason", "usage")
    events: list[Event] = [{"type": "message_start", "message": start}]
    for index, (block, deltas) in enumerate(blocks):
        events += _events(index, block, deltas, chance)
    answer.is_cut = chance.random() < 0.05
    end: Event = {"type": "message_delta", "delta": {"stop_reason": _end(answer)}}
    end["usage"] = odd_counts(_OUTPUT, chance)
    without(end, chance, "usage")
    if chance.random() < 0.1:
        end["delta"] = chance.choice(({"stop_reason": None}, {"stop_reason": ""}, None))
    if not answer.is_cut:
        events += [end, {"type": "message_stop"}]
    return sse(answer, events, _UNREADABLE, "", chance)


def _blocks(answer: Answer, chance: Chance) -> list[tuple[Event, list[Event]]]:
    blocks: list[tuple[Event, list[Event]]] = []
    if answer.reasoning:
        deltas: list[Event] = [
            {"type": "thinking_delta", "thinking": piece}
            for piece in answer.pieces(answer.reasoning, chance)
        ]
        blocks.append(({"type": "thinking", "thinking": ""}, deltas))
    deltas = [
        {"type": "text_delta", "text": odd_text(piece, chance)}
        for piece in answer.pieces(answer.text, chance)
    ]
    blocks.append(({"type": "text", "text": ""}, deltas))
    for index, (name, arguments) in enumerate(answer.calls):
        deltas = [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in answer.argument_pieces(arguments, chance)
        ]
        blocks.append(({"type": "tool_use", "id": f"c{index}", "name": name, "input": {}}, deltas))
    return blocks


def _events(index: int, block: Event, deltas: list[Event], chance: Chance) -> list[Event]:
    start: Event = {"type": "content_block_start", "content_block": block}
    events = [start, *({"type": "content_block_delta", "delta": delta} for delta in deltas)]
    if block["type"] != "tool_use" and chance.random() < 0.1:
        del events[0]
    if chance.random() < 0.9:
        events.append({"type": "content_block_stop"})
    for delta in deltas:
        without(delta, chance, "type")
    for event in events:
        event["index"] = _odd_index(index, chance)
    return events


def _odd_index(index: int, chance: Chance) -> Any:
    return chance.choice((index, index, str(index), float(index)))


def _end(answer: Answer) -> str:
    return "tool_use" if answer.calls else "end_turn"
