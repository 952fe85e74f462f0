"""The process that reads documents: `python -m heddle_knowledge.reading.worker`."""

import msgspec

from heddle_knowledge.chunking.chunks import chunk
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.pages.limits import limit_memory
from heddle_knowledge.reading.documents import parse
from heddle_knowledge.workers.frames import ParseReply, ParseRequest, serve

_MEMORY = 2 * 1024**3  # a file of 32 MiB that unfolds to more than this is an attack


def main() -> None:
    """Read what the service sends, until it goes."""
    limit_memory(_MEMORY)
    serve(_handle)


def _handle(payload: bytes) -> bytes:
    request = msgspec.msgpack.decode(payload, type=ParseRequest)
    try:
        document = parse(
            request.data,
            media_type=request.media_type,
            name=request.name,
            scanned=request.scanned,
        )
        reply = ParseReply(
            title=document.title,
            time=document.time,
            pages=document.pages,
            chunks=chunk(document, request.chunking),
        )
    except UnreadableDocumentError as error:
        reply = ParseReply(unreadable=str(error))
    except (MemoryError, RecursionError):
        reply = ParseReply(
            unreadable=f"{request.name!r} is too complex to read. Split it into smaller documents."
        )
    return msgspec.msgpack.encode(reply)


if __name__ == "__main__":
    main()
