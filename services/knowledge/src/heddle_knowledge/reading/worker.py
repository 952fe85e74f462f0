"""The process that reads documents: `python -m heddle_knowledge.reading.worker`."""

import os

from heddle_knowledge.chunking.chunks import chunk
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.reading.documents import parse, text_of
from heddle_knowledge.reading.parsing import (
    DEFAULT_MEMORY_BYTES,
    MEMORY_VARIABLE,
    ParseReply,
    ParseRequest,
    TextReply,
    TextRequest,
)
from heddle_knowledge.workers.serving import serve


def main() -> None:
    """Read what the service sends, until it goes."""
    serve(
        _read,
        ParseRequest | TextRequest,
        refusal=UnreadableDocumentError,
        memory_bytes=int(os.environ.get(MEMORY_VARIABLE, DEFAULT_MEMORY_BYTES)),
    )


def _read(request: ParseRequest | TextRequest) -> ParseReply | TextReply:
    try:
        return _text(request) if isinstance(request, TextRequest) else _parsed(request)
    except (MemoryError, RecursionError) as error:
        raise UnreadableDocumentError(
            f"{request.name!r} is too complex to read. Split it into smaller documents."
        ) from error


def _text(request: TextRequest) -> TextReply:
    text = text_of(request.data, media_type=request.media_type, name=request.name)
    length = request.max_characters
    return TextReply(text[:length], len(text) > length)


def _parsed(request: ParseRequest) -> ParseReply:
    document = parse(
        request.data,
        media_type=request.media_type,
        name=request.name,
        scanned=request.scanned,
    )
    chunks = chunk(document, request.chunking)
    return ParseReply(
        document.title, document.time, document.pages, dict(document.metadata), chunks
    )


if __name__ == "__main__":
    main()
