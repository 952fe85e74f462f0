"""The process that draws: `python -m heddle_knowledge.pages.rendering_worker`."""

import msgspec
import pypdfium2  # type: ignore[import-untyped]  # ships no annotations

from heddle_knowledge.pages.limits import limit_memory
from heddle_knowledge.pages.reading import drawn_page
from heddle_knowledge.pages.rendering import open_pdf
from heddle_knowledge.pages.requests import (
    CountReply,
    CountRequest,
    PagesReply,
    PagesRequest,
    Request,
)
from heddle_knowledge.workers.frames import serve

_MEMORY = 2 * 1024**3


def main() -> None:
    """Draw what the service sends, until it goes."""
    limit_memory(_MEMORY)
    serve(_handle)


def _handle(payload: bytes) -> bytes:
    request = msgspec.msgpack.decode(payload, type=Request)
    if isinstance(request, CountRequest):
        return msgspec.msgpack.encode(CountReply(_count(request.data)))
    if not isinstance(request, PagesRequest):
        raise TypeError(type(request).__name__)
    with open_pdf(request.data) as document:
        pages = [drawn_page(document, number) for number in request.numbers]
    return msgspec.msgpack.encode(PagesReply(pages))


def _count(data: bytes) -> int:
    try:
        with open_pdf(data) as document:
            return len(document)
    except pypdfium2.PdfiumError:
        return 0


if __name__ == "__main__":
    main()
