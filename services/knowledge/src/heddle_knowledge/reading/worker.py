"""The process that reads documents: `python -m heddle_knowledge.reading.worker`."""

import os

from heddle_knowledge.chunking.chunks import chunk
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.reading.documents import parse
from heddle_knowledge.reading.parsing import ParseReply, ParseRequest
from heddle_knowledge.reading.worker_memory import DEFAULT_MEMORY_BYTES, MEMORY_VARIABLE
from heddle_knowledge.workers.serving import serve


def main() -> None:
    """Read what the service sends, until it goes."""
    serve(
        _read,
        ParseRequest,
        refusal=UnreadableDocumentError,
        memory_bytes=int(os.environ.get(MEMORY_VARIABLE, DEFAULT_MEMORY_BYTES)),
    )


def _read(request: ParseRequest) -> ParseReply:
    try:
        document = parse(
            request.data,
            media_type=request.media_type,
            name=request.name,
            scanned=request.scanned,
        )
        chunks = chunk(document, request.chunking)
    except (MemoryError, RecursionError) as error:
        raise UnreadableDocumentError(
            f"{request.name!r} is too complex to read. Split it into smaller documents."
        ) from error
    return ParseReply(
        document.title, document.time, document.pages, dict(document.metadata), chunks
    )


if __name__ == "__main__":
    main()
