"""`heddle_runtime.contract.paging`."""

import pytest
from heddle_runtime.contract.paging import page
from heddle_runtime.errors import InvalidRequestError
from hypothesis import given
from hypothesis import strategies as st


def name(item: str) -> str:
    return item


@given(st.sets(st.text(min_size=1), max_size=30), st.integers(1, 7))
def test_pages_together_hold_everything_once_and_in_order(items: set[str], size: int) -> None:
    collected: list[str] = []
    token = ""
    while True:
        found, token = page(items, name, size, token)
        collected += found
        if not token:
            break

    assert collected == sorted(items)


def test_something_new_between_two_pages_hides_nothing() -> None:
    _, token = page(["a", "b", "c"], name, 2, "")

    assert page(["a", "aa", "b", "c"], name, 2, token)[0] == ["c"]


@pytest.mark.parametrize(("size", "token"), [(-1, ""), (1, "not a token!"), (1, "////")])
def test_a_wrong_page_is_refused(size: int, token: str) -> None:
    with pytest.raises(InvalidRequestError):
        page(["a"], name, size, token)
