"""Server-sent events arrive the same wherever the network cuts them."""

import itertools

import pytest
from heddle_connector.http.sse import SseDecoder
from heddle_runtime.errors import ProviderGarbledError
from hypothesis import given
from hypothesis import strategies as st

EXAMPLES = {
    "plain": (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
    "crlf": (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    "mixed line ends": (b"data: a\r\n\ndata: b\n\r\n", [b"a", b"b"]),
    "several lines": (b"data: a\ndata: b\n\ndata: c\n\n", [b"a\nb", b"c"]),
    "comments and other fields": (
        b": keep-alive\n\nevent: message\nid: 7\nretry: 10\ndata: a\n\n: end\n\n",
        [b"a"],
    ),
    "no space after the colon": (b"data:a\n\ndata:  b\n\n", [b"a", b" b"]),
    "empty data": (b"data:\n\ndata\n\ndata: a\n\n", [b"", b"", b"a"]),
    "event without data": (b"event: ping\n\ndata: a\n\n", [b"a"]),
    "byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
    "characters of several bytes": ("data: é🧵\n\n".encode(), ["é🧵".encode()]),
    "the last event has no end": (b"data: a\n\ndata: b", [b"a", b"b"]),
    "the last line has no empty line": (b"data: a\n\ndata: [DONE]\r\n", [b"a", b"[DONE]"]),
    "a field that only begins like data": (b"database: a\n\ndata: b\n\n", [b"b"]),
}
STREAM = b"".join(stream for name, (stream, _) in EXAMPLES.items() if "last" not in name)


def decoded(*pieces: bytes) -> list[bytes]:
    decoder = SseDecoder()
    found = [data for piece in pieces for data in decoder.feed(piece)]
    return found + decoder.end()


@pytest.mark.parametrize(("stream", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_every_cut_of_every_example_gives_the_same_events(
    stream: bytes, expected: list[bytes]
) -> None:
    assert decoded(stream) == expected
    assert decoded(*(stream[i : i + 1] for i in range(len(stream)))) == expected
    for first in range(len(stream)):
        for second in range(first, len(stream)):
            assert decoded(stream[:first], stream[first:second], stream[second:]) == expected


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_number_of_cuts_gives_the_same_events(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in itertools.pairwise(edges)]
    assert decoded(*pieces) == decoded(STREAM)


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_no_bytes_make_the_decoder_fail_or_depend_on_the_cuts(pieces: list[bytes]) -> None:
    assert decoded(*pieces) == decoded(b"".join(pieces))


def test_a_line_without_an_end_is_refused_when_it_passes_the_limit() -> None:
    decoder = SseDecoder(max_bytes=1000)
    assert decoder.feed(b"data: " + b"x" * 994) == []
    with pytest.raises(ProviderGarbledError, match="line of more than 1000 bytes"):
        decoder.feed(b"x")


def test_an_event_without_an_end_is_refused_when_it_passes_the_limit() -> None:
    decoder = SseDecoder(max_bytes=1000)
    with pytest.raises(ProviderGarbledError, match="event of more than 1000 bytes"):
        decoder.feed(b"data: 12345678\n" * 200)


def test_an_endless_line_costs_time_in_proportion_to_its_length() -> None:
    decoder = SseDecoder()
    for _ in range(200_000):  # with quadratic cost this would take minutes
        decoder.feed(b"xxxxxxxx")
    assert decoder.feed(b"\n\ndata: a\n\n") == [b"a"]
