"""Lists that come in pages."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar


class Page(Protocol):
    """A response of a `List…` call."""

    @property
    def next_page_token(self) -> str:
        """The token of the next page, empty on the last."""


PageT = TypeVar("PageT", bound=Page)


def pages(read: Callable[[str], PageT]) -> Iterator[PageT]:
    """Yield all pages of a list; `read` gets the one of a token."""
    token = ""
    while True:
        page = read(token)
        yield page
        token = page.next_page_token
        if not token:
            return
