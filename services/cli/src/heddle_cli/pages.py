"""Lists that come in pages."""

from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.message import Message
from heddle_runtime.contract.rest_writing import writer

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


def whole(
    method: Callable[..., Any],
    request: Any,  # noqa: ANN401 - as above
    timeout: float = SOON,
) -> Any:  # noqa: ANN401 - of any list
    """Return the response of a `List…` call with what all pages have."""
    first, *others = pages(method, request, timeout)
    for page in others:
        first.MergeFrom(page)
    return first


def document(response: Message) -> dict[str, Any]:
    """Return a response as REST writes it, without the place of the next page."""
    paging = "next_page_token"
    without = (paging,) if paging in response.DESCRIPTOR.fields_by_name else ()
    return writer(response.DESCRIPTOR, without)(response)
