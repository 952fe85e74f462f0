"""How the service and its worker processes talk: numbered, length-prefixed msgpack, no pickle.

A frame is two big-endian 32-bit numbers, the length of the payload and the number of the request,
then the payload. A worker answers every request with one frame of the same number.
"""

import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import BinaryIO

import msgspec

from heddle_knowledge.chunking.chunks import Chunk
from heddle_knowledge.chunking.options import DEFAULT, Chunking

HEADER = struct.Struct(">II")
_NICE = 10
_WATCH_SECONDS = 2.0


class EmbedRequest(msgspec.Struct, frozen=True):
    """Passages to embed, by which model, and whether word by word too."""

    model: str
    texts: list[str]
    words: bool = False


class EmbedReply(msgspec.Struct, frozen=True):
    """Their vectors: float32 in this machine's byte order, row after row; or what went wrong.

    The words of each are as `late_interaction.packed`, if they were asked for.
    """

    vectors: bytes = b""
    words: list[bytes] = []
    error: str = ""


class ParseRequest(msgspec.Struct, frozen=True):
    """A document to read and cut."""

    data: bytes
    media_type: str
    name: str
    chunking: Chunking = DEFAULT
    scanned: dict[int, str] = {}


class ParseReply(msgspec.Struct, frozen=True):
    """What it says of itself and its chunks; or, for the user, why it cannot be read."""

    title: str = ""
    time: datetime | None = None
    pages: int = 0
    chunks: list[Chunk] = []
    unreadable: str = ""


def frame(number: int, payload: bytes) -> bytes:
    """Put the header before a payload."""
    return HEADER.pack(len(payload), number) + payload


def serve(handle: Callable[[bytes], bytes]) -> None:
    """Answer the frames of standard input on standard output until the parent goes.

    Called once by the main function of a worker process, which it makes a polite one: low
    priority, and gone within seconds of its parent, even from the middle of a long request.
    """
    # Whatever a library prints must not end up among the frames.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.nice(_NICE)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        while (request := _next_frame(sys.stdin.buffer)) is not None:
            number, payload = request
            replies.write(frame(number, handle(payload)))
            replies.flush()
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)  # the parent is gone; there is nobody to tell, not even at the final flush


def _next_frame(source: BinaryIO) -> tuple[int, bytes] | None:
    header = source.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    length, number = HEADER.unpack(header)
    payload = source.read(length)
    return (number, payload) if len(payload) == length else None


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(0)
