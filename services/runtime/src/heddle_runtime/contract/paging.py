"""Pages of lists, by the same rules for every `List…` call."""

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from heddle_runtime.contract.limits import (
    DEFAULT_PAGE_SIZE,
    DEFAULT_SHORT_PAGE_SIZE,
    MAX_PAGE_SIZE,
    MAX_SHORT_PAGE_SIZE,
)
from heddle_runtime.errors import InvalidRequestError, Violation

ItemT = TypeVar("ItemT")


def page(
    items: Iterable[ItemT],
    key: Callable[[ItemT], str],
    size: int,
    token: str,
    *,
    default: int = DEFAULT_SHORT_PAGE_SIZE,
    maximum: int = MAX_SHORT_PAGE_SIZE,
) -> tuple[list[ItemT], str]:
    """Return one page of `items` in the order of `key`, and the token of the next page.

    A page begins after the last key of the page before, so that items that are added or removed
    between two calls cause neither repetitions nor gaps.
    """
    after = read_token(token)
    limit = page_size(size, default, maximum)
    rest = sorted((item for item in items if key(item) > after), key=key)
    items_of_page = rest[:limit]
    return items_of_page, write_token(key(items_of_page[-1])) if len(rest) > limit else ""


def page_size(size: int, default: int = DEFAULT_PAGE_SIZE, maximum: int = MAX_PAGE_SIZE) -> int:
    """Return the number of items of a page; a requested size of 0 means the default.

    Raises:
        InvalidRequestError: The requested size is negative.
    """
    if size < 0:
        violation = Violation("page_size", f"must be between 0 and {maximum}")
        raise InvalidRequestError("The page size is negative.", [violation])
    return min(size, maximum) or default


def cut(
    items: Sequence[ItemT], size: int, key: Callable[[ItemT], str]
) -> tuple[Sequence[ItemT], str]:
    """Return the page of `items`, read with one item more than it holds, and the next token."""
    shown = items[:size]
    return shown, write_token(key(shown[-1])) if len(items) > size else ""


def write_token(key: str) -> str:
    """Return the token of the page that begins after `key`."""
    return base64.urlsafe_b64encode(key.encode()).decode()


def read_token(token: str) -> str:
    """Return the key after which the page of `token` begins.

    Raises:
        InvalidRequestError: It is not a token of a page.
    """
    try:
        return base64.b64decode(token.encode(), b"-_", validate=True).decode()
    except ValueError:
        violation = Violation("page_token", "is not a token of this list")
        raise InvalidRequestError("The page token is not valid.", [violation]) from None
