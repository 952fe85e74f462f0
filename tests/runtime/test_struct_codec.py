"""`heddle_runtime.contract.struct_codec`."""

import pytest
from heddle_runtime.contract.struct_codec import from_struct, to_struct


def test_whole_numbers_stay_whole() -> None:
    value = {"top_k": 3, "ratio": 0.5, "nested": [{"n": 1}, None, True]}

    assert from_struct(to_struct(value)) == value
    assert isinstance(from_struct(to_struct(value))["top_k"], int)


def test_numbers_that_would_change_are_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        to_struct({"id": 2**53 + 1})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_json_does_not_know_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="is no number of JSON"):
        to_struct({"deep": [{"ratio": number}]})
