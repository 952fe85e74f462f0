"""What is read as JSON, and what is not."""

import pytest
from heddle_gateway.json_text import parse
from heddle_runtime.errors import InvalidRequestError


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[]", b"null", b'"a"', b"{", b'{"a":1}{', b'{"a":1,}', b"{'a':1}", b"\xff"),
        *(b'{"a":NaN}', b'{"a":-Infinity}', b'{"a":1,"a":1}', b'{"b":[{"a":1,"a":2}]}'),
        *(b'{"a":"\xff"}', b'{"a":' + b"1" * 5000 + b"}", b'\xef\xbb\xbf{"a":1}', b"\x00" * 20),
        *(b'{"a":' + b"[" * depth + b"]" * depth + b"}" for depth in (1_100, 5_000, 100_000)),
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
    ],
)
def test_ambiguous_broken_and_bottomless_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse(body)
    assert len(caught.value.message) < 120


def test_the_name_that_stands_twice_is_not_repeated_to_the_client() -> None:
    with pytest.raises(InvalidRequestError, match="two members of the same name"):
        parse(b'{"secret-name":1,"secret-name":2}')


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb"\ud83d\ude00", "😀"),
        (rb"\ud83d", "\ufffd"),
        (rb"\ude00\ud83d", "\ufffd\ufffd"),
        (rb"\ud83dx\ude00", "\ufffdx\ufffd"),
        (rb"\\ud83d", r"\ud83d"),
        (rb"\\\ud83d", "\\\ufffd"),
        (rb"\"\ud83d\"", '"\ufffd"'),
    ],
)
def test_escapes_are_mended_where_they_are_escapes(written: bytes, read: str) -> None:
    assert parse(b'{"a":"' + written + b'"}')[0] == {"a": read}
