"""Lists that come in pages."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar


class Page(Protocol):
    """A response of a `List…` call."""

    @property
    def next_page_token(self) -> str:
        """The token of the next page, empty on the last."""


PageT = TypeVar("PageT", bound=Page)
ItemT = TypeVar("ItemT")


def pages(read: Callable[[str], PageT]) -> Iterator[PageT]:
    """Yield all pages of a list; `read` gets the one of a token."""
    token = ""
    while True:
        page = read(token)
        yield page
        token = page.next_page_token
        if not token:
            return


def items(read: Callable[[str], PageT], of: Callable[[PageT], Iterable[ItemT]]) -> list[ItemT]:
    """Return what is on all pages of a list; `of` gets it out of one page."""
    return [item for page in pages(read) for item in of(page)]
