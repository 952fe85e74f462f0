"""Mutated server-sent events."""

from collections.abc import Sequence

from connector.mutations.answers import Answer, Chance, Event

_NOISE = (
    ": ping",
    "data:",
    "data: null",
    "data: []",
    'data: "x"',
    "event: ping",
    "id: 7",
    "data: {}",
)


def sse(
    answer: Answer, events: Sequence[Event], unreadable: str, last: str, chance: Chance
) -> bytes:
    """Return the bytes of a stream, with other events between its own.

    Args:
        answer: The answer of the events.
        events: Its events.
        unreadable: An event that cannot be read.
        last: The last line.
        chance: Decides what the stream has.
    """
    lines: list[bytes] = []
    for event in events:
        if chance.random() < 0.1:
            lines += [chance.choice(_NOISE).encode(), b""]
        if chance.random() < 0.01:
            answer.is_damaged = True
            lines += [b"data: " + unreadable.encode(), b""]
        if chance.random() < 0.3 and "type" in event:
            lines.append(b"event: " + str(event["type"]).encode())
        data = answer.encoded(event)
        if chance.random() < 0.05:
            data = data.replace(b", ", b",\ndata: ", 1)  # data on two lines
        lines += [chance.choice((b"data: ", b"data:")) + data, b""]
    if last and not answer.is_cut:
        lines += [last.encode(), b""]
    end = chance.choice((b"\n", b"\r\n", b"\r"))
    body = b"".join(line + b"\n" for line in lines).replace(b"\n", end)
    return (b"\xef\xbb\xbf" if chance.random() < 0.05 else b"") + body
