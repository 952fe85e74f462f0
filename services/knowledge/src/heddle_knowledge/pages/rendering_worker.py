"""The process that draws: `python -m heddle_knowledge.pages.rendering_worker`."""

import pypdfium2  # type: ignore[import-untyped]  # ships no annotations

from heddle_knowledge.pages.reader import CountRequest, PagesRequest
from heddle_knowledge.pages.reading import drawn_page
from heddle_knowledge.pages.rendering import open_pdf
from heddle_knowledge.pages.shapes import DrawnPage
from heddle_knowledge.workers.serving import serve

_MEMORY = 2 * 1024**3


def main() -> None:
    """Draw what the service sends, until it goes."""
    serve(_answer, CountRequest | PagesRequest, memory_bytes=_MEMORY)


def _answer(request: CountRequest | PagesRequest) -> int | list[DrawnPage]:
    if isinstance(request, PagesRequest):
        with open_pdf(request.data) as document:
            return [drawn_page(document, number) for number in request.numbers]
    try:
        with open_pdf(request.data) as document:
            return len(document)
    except pypdfium2.PdfiumError:
        return 0


if __name__ == "__main__":
    main()
