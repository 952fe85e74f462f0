"""What is read as JSON, and what is not."""

import json
from typing import Any

import pytest
from heddle_gateway.http.json_text import parse
from heddle_runtime.errors import InvalidRequestError
from hypothesis import given
from hypothesis import strategies as st


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


@pytest.mark.parametrize(
    "body",
    [
        *(rb'{"a":"\u003a","a":1}', rb'{"a":"\u003A","a":1}', rb'{"a":[{"b":1,"b":"\\\u003a"}]}'),
        *(rb'{"a":1,"\u0061":2}', rb'{"a:":1,"a\u003a":2}', b'{"a":1,"a":{":":":"}}'),
        *(b'{"a":1e999,"a":1}', b'{"a" :1, "a" :1}', b'{"":1,"":1}', rb'{"a":"\ud83d","a":1}'),
    ],
)
def test_names_that_stand_twice_are_found_however_they_are_written(body: bytes) -> None:
    with pytest.raises(InvalidRequestError, match="two members of the same name"):
        parse(body)


class Members(list[tuple[str, Any]]):
    """An object whose names may stand twice."""


texts = st.text(st.sampled_from('a:"\\\n\x7fé😀,{}[] ')) | st.sampled_from(["a", "b"])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner) | st.lists(st.tuples(texts, inner)).map(Members),
    max_leaves=12,
)


def written(value: Any, *, escape: bool) -> str:
    if isinstance(value, Members):
        pairs = (
            f"{written(name, escape=escape)} :{written(item, escape=escape)}"
            for name, item in value
        )
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(written(item, escape=escape) for item in value)}]"
    found = json.dumps(value, ensure_ascii=escape)
    return found.replace(":", r"\u003a") if escape else found


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise LookupError
    return dict(pairs)


@given(values, st.booleans())
def test_what_is_read_is_what_was_written_or_is_refused(value: Any, escape: bool) -> None:
    body = f'{{"a":{written(value, escape=escape)}}}'
    try:
        expected = json.loads(body, object_pairs_hook=once)
    except LookupError:
        expected = None
    try:
        found = parse(body.encode())[0]
    except InvalidRequestError:
        found = None
    assert found == expected


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
