"""`heddle_runtime.contract.json_text`: the size of a JSON text, before it is parsed."""

import json

from heddle_runtime.contract.json_text import MAX_VALUES, values_in
from hypothesis import given
from hypothesis import strategies as st
from runtime.examples import examples

JSON = st.recursive(
    st.none() | st.integers() | st.text('a,[{"\\'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('a,"\\'), inner),
)


def count(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(count, value.values()))
    return 1 + sum(map(count, value)) if isinstance(value, list) else 1


@examples(500)
@given(JSON, st.integers(0, 3))
def test_no_value_is_missed(value: object, repetitions: int) -> None:
    value = [value] * 10**repetitions
    assert values_in(json.dumps(value).encode(), 10**6) >= count(value)


def test_marks_in_strings_are_no_values() -> None:
    table = ',"a" \\' * 500_000
    assert values_in(json.dumps({"text": table}).encode()) < 10
    assert values_in(json.dumps([{"text": table}] * 3).encode()) < 20


def test_a_text_of_more_values_than_any_limit_is_not_counted() -> None:
    assert values_in(b"[" + b'"",' * 1_000_000) > MAX_VALUES
