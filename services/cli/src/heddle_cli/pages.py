"""Lists that come in pages."""

from collections.abc import Callable, Iterator
from typing import Any

from heddle_cli.secret import SOON


def pages(
    method: Callable[..., Any],
    request: Any,  # noqa: ANN401 - of any list
    timeout: float = SOON,
) -> Iterator[Any]:
    """Yield all pages of a `List…` call."""
    token = ""
    while True:
        page_request = type(request)(page_token=token)
        page_request.MergeFrom(request)
        page = method(page_request, timeout=timeout)
        yield page
        if not (token := page.next_page_token):
            return


def items(method: Callable[..., Any], request: Any, name: str) -> list[Any]:  # noqa: ANN401 - as above
    """Return the items of all pages, which are in the field `name`."""
    return [item for page in pages(method, request) for item in getattr(page, name)]
