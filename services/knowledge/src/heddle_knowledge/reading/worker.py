"""The process that reads documents: `python -m heddle_knowledge.reading.worker`."""

from dataclasses import replace

from heddle_knowledge.chunking.chunks import chunk
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.reading.documents import parse, text_of
from heddle_knowledge.reading.parsing import (
    ParseReply,
    ParseRequest,
    TextReply,
    TextRequest,
)
from heddle_knowledge.workers.serving import serve

_MEMORY = 1024**3
"""Bytes of addresses. A document that needs more is refused."""


def main() -> None:
    """Read what the service sends, until it goes."""
    requests = ParseRequest | TextRequest
    serve(_read, requests, refusal=UnreadableDocumentError, memory_bytes=_MEMORY)


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
    return ParseReply(replace(document, blocks=()), chunk(document, request.chunking))


if __name__ == "__main__":
    main()
